"""A metastore as a child process, with calls for its requests."""

import json
import subprocess
from types import TracebackType
from typing import Any, Self

from ledger.core.lists.valid_lists import ValidWriteIdList
from tests.demo.acts.fleet import end, started
from tests.demo.metastores.metastore import TablePlace
from tests.demo.metastores.metastore_steps import short
from tests.demo.report import CheckFailedError


class MetastoreProcess:
    """A metastore of a name, running until the end of a `with` block; for one thread."""

    def __init__(self, name: str, place: TablePlace) -> None:
        self.name = name
        self._process = started("tests.demo.metastores.metastore", stdout=subprocess.PIPE)
        self._send(place.line())

    @property
    def pid(self) -> int:
        """Return its process id."""
        return self._process.pid

    def ask(self, do: str, **request: Any) -> Any:
        """Return the answer to a request; raises CheckFailedError if it failed, or has ended."""
        self._send(json.dumps({"do": do, **request}).encode() + b"\n")
        assert self._process.stdout is not None, "it was asked for"
        line = self._process.stdout.readline()
        if not line:
            raise CheckFailedError(f"{self.name} ended with exit code {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise CheckFailedError(f"{self.name} cannot {do}: {answer['error']}")
        return answer

    def read(self, table: int, ids: ValidWriteIdList) -> str:
        """Return the answer to a reader of a list, with source and reason."""
        answer = self.ask("read", table=table, ids=ids.text())
        return f"{answer['word']} {answer['source']} {answer['reason']}"

    def entry(self, table: int) -> str:
        """Return the entry of a table in the form of `Line`."""
        found = self.ask("entry", table=table)
        if found["ids"] is None:
            return "-"
        ids = short(ValidWriteIdList.parse(found["ids"]))
        return ids if found["is_committed"] else f"{ids} *"

    def dismiss(self) -> None:
        """Let it end by itself; the end of the `with` block waits for that."""
        assert self._process.stdin is not None, "it was asked for"
        self._process.stdin.close()

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None, "it was asked for"
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self._process.kill()
        self.dismiss()
        end(self._process)
