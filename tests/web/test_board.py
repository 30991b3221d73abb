"""The board and the alert rules are as the metrics make them, and ask for metrics that exist."""

import re
from typing import Any, Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.docs.pages import ROOT
from tests.web.board import ALERTS, BOARD, DEPLOY, ROLES, RULES, alerts, board, queries

yaml = pytest.importorskip("ruamel.yaml", reason="ruamel.yaml comes with check-jsonschema")

NAMES: Final = re.compile(r"\blakeledger_\w+")
SUFFIX: Final = re.compile(r"_(total|sum|count|bucket)$")
LOAD: Final[Any] = yaml.YAML(typ="safe").load


@pytest.fixture(scope="module")
def defined() -> set[str]:
    """Return the names of all samples that the metrics of the roles can have."""
    suffixes = {
        "counter": ["_total"],
        "summary": ["_sum", "_count"],
        "histogram": ["_sum", "_count", "_bucket"],
    }
    return {
        family.name + suffix
        for text in ROLES.values()
        for family in text_string_to_metric_families(text())
        for suffix in suffixes.get(family.type, [""])
    }


def test_made() -> None:
    """The files are the ones that `python -m tests.web.board` writes."""
    assert BOARD.read_text(encoding="utf-8") == board()
    assert ALERTS.read_text(encoding="utf-8") == alerts()


def test_every_query_names_metrics_that_a_role_has(defined: set[str]) -> None:
    wanted = {name for query in queries() for name in NAMES.findall(query)}
    assert wanted <= defined
    shown = {SUFFIX.sub("", name) for name in wanted}
    ours = {SUFFIX.sub("", name) for name in defined if NAMES.match(name)}
    assert {name for name in ours if not name.endswith("_created")} <= shown


def test_the_rules_are_yaml_in_the_form_of_prometheus() -> None:
    (group,) = LOAD(ALERTS)["groups"]
    assert [each["expr"] for each in group["rules"]] == [rule.query for rule in RULES]
    assert all(
        set(each) == {"alert", "expr", "for", "labels", "annotations"} for each in group["rules"]
    )
    assert LOAD(DEPLOY / "prometheus.yml")["rule_files"] == ["/etc/prometheus/alerts.yml"]


def test_prometheus_asks_every_role_that_answers_http() -> None:
    services = LOAD(ROOT / "docker-compose.yml")["services"]
    (job,) = LOAD(DEPLOY / "prometheus.yml")["scrape_configs"]
    targets = [each for static in job["static_configs"] for each in static["targets"]]
    for target in targets:
        host, _, port = target.partition(":")
        environment = services[host]["environment"]
        role = host.partition("-")[0].upper()
        assert environment[f"LAKELEDGER_{role}__HTTP"].endswith(f":{port}")
        assert host in environment[f"LAKELEDGER_{role}__HOSTS"].split(",")
    answering = [name for name, each in services.items() if each["image"].startswith("lakeledger")]
    assert {each.partition(":")[0] for each in targets} == {*answering} - {
        "topics",
        "feeder",
        "flusher",
    }
