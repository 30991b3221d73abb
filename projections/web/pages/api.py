"""The page about the API: each path of the reads with its parameters, and the topics."""

from collections.abc import Iterator

from projections.web.api.asyncapi import asyncapi
from projections.web.api.openapi import openapi
from projections.web.pages.page import Fields, PageView


def api(view: PageView) -> Fields:
    """Gather the paths and the messages, from the documents."""
    channels = asyncapi()["channels"].items()
    return {
        "operations": list(operations()),
        "channels": [(name, each["description"], each["messages"]) for name, each in channels],
        "newest": view.newest,
    }


def operations() -> Iterator[Fields]:
    """Yield each operation with the names of its parameters and its answer."""
    for path, item in openapi()["paths"].items():
        for method, each in item.items():
            # A path that always answers with an error has no other answer.
            content = each["responses"].get("200", {}).get("content", {})
            form = next(iter(content.values()))["schema"] if content else {"type": "error"}
            yield {
                "method": method.upper(),
                "path": path,
                "summary": each.get("summary", ""),
                "parameters": [given["name"] for given in each["parameters"]],
                "answer": answer_name(form),
            }


def answer_name(form: Fields) -> str:
    """Return the name of an answer; a list stands in brackets."""
    if form.get("type") == "array":
        return f"[{answer_name(form['items'])}]"
    return str(form.get("$ref", "")).rpartition("/")[2] or str(form.get("type", "any"))
