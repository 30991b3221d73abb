"""The units of systemd and the manifests of Kubernetes: valid, and true to the settings here."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.config.config import kinds
from tests.command_line import invoked

kubernetes_validate = pytest.importorskip(
    "kubernetes_validate", reason="kubernetes-validate is not installed; it is in [dev]"
)
yaml = pytest.importorskip("yaml", reason="PyYAML comes with kubernetes-validate")

DEPLOY: Final = Path(__file__).parent.parent / "deploy"
UNITS: Final = sorted(path.name for path in (DEPLOY / "systemd").iterdir() if path.suffix != ".env")
ROLES: Final = (
    *("sequencer", "follower", "cache", "publisher", "iceberg", "notifier", "flusher", "ingest"),
)
# An older one, and the one of today.
VERSIONS: Final = ("1.29.0", "1.37.0")
SETTING: Final = re.compile(r"^#? ?LAKELEDGER_([A-Z_]+)", re.MULTILINE)


def documents() -> Iterator[tuple[str, Any]]:
    """Yield the name of a manifest and each object in it, as Kubernetes gets it."""
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        if path.name == "kustomization.yaml":
            continue
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            yield path.name, document


OBJECTS: Final = list(documents())
NAMES: Final = [f"{name}-{document['kind']}" for name, document in OBJECTS]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("document", [document for _, document in OBJECTS], ids=NAMES)
def test_an_object_fits_the_schema_of_kubernetes(document: Any, version: str) -> None:
    kubernetes_validate.validate(document, version, strict=True)


def test_kustomization_names_each_manifest() -> None:
    text = (DEPLOY / "kubernetes" / "kustomization.yaml").read_text(encoding="utf-8")

    assert set(yaml.safe_load(text)["resources"]) == {name for name, _ in OBJECTS}


@pytest.mark.parametrize("place", ["systemd/lakeledger.env", "kubernetes/config.yaml"])
def test_each_setting_is_known(place: str) -> None:
    """A misspelled one would end every role at its start."""
    text = (DEPLOY / place).read_text(encoding="utf-8").replace("  LAKELEDGER", "LAKELEDGER")
    found = [name.lower().replace("__", ".") for name in SETTING.findall(text)]

    assert found
    assert [name for name in found if name not in kinds()] == []


def test_a_role_answers_probes_at_its_port() -> None:
    """The ports of the settings, of the pods and of the services are one."""
    config = next(document["data"] for _, document in OBJECTS if document["kind"] == "ConfigMap")
    services = {
        document["metadata"]["name"]: document["spec"]["ports"][0]["port"]
        for _, document in OBJECTS
        if document["kind"] == "Service"
    }
    pods = {
        document["metadata"]["name"]: document["spec"]["template"]["spec"]["containers"][0]
        for _, document in OBJECTS
        if document["kind"] == "StatefulSet"
    }

    assert services.keys() == pods.keys()
    for role, pod in pods.items():
        port = int(config[f"LAKELEDGER_{role.upper()}__HTTP"].rpartition(":")[2])
        assert (services[role], pod["ports"][0]["containerPort"]) == (port, port)
        assert pod["args"] == ["serve", role]


def test_each_pod_that_opens_encrypted_rows_mounts_the_keys_where_its_setting_says() -> None:
    """A pod with the setting alone would make keys in its container, which go with that."""
    places: dict[str, tuple[str, str]] = {}
    for _, document in OBJECTS:
        if document["kind"] not in {"Deployment", "StatefulSet"}:
            continue
        spec = document["spec"]["template"]["spec"]
        (pod,) = spec["containers"]
        told = {each["name"]: each["value"] for each in pod.get("env", ())}
        mounts = {each["name"]: each["mountPath"] for each in pod["volumeMounts"]}
        if "LAKELEDGER_KEYS" in told or "keys" in mounts:
            place = told["LAKELEDGER_KEYS"], mounts["keys"]
            places[document["metadata"]["name"]] = place
            claims = {each["name"]: each.get("persistentVolumeClaim") for each in spec["volumes"]}
            assert claims["keys"] == {"claimName": "keys"}
    assert places.keys() == {"follower", "flusher", "ingest"}
    assert {len(set(place)) for place in places.values()} == {1}
    config = next(document["data"] for _, document in OBJECTS if document["kind"] == "ConfigMap")
    assert "LAKELEDGER_KEYS" not in config


@pytest.mark.parametrize("role", ROLES)
def test_a_role_is_a_command_without_further_arguments(role: str) -> None:
    """The unit has no arguments: what a role needs is in the environment."""
    done = invoked("serve", role, "--help")

    assert done.exit_code == 0
    assert "[required]" not in done.output


@pytest.mark.integration
@pytest.mark.parametrize("unit", UNITS)
def test_systemd_accepts_a_unit(unit: str, tmp_path: Path) -> None:
    """Paths that a test has not are replaced by ones that are here."""
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("systemd-analyze is not installed")
    command = Path(sys.executable).parent / "lakeledger"
    for name in UNITS:
        text = (DEPLOY / "systemd" / name).read_text(encoding="utf-8")
        text = text.replace("/opt/lakeledger/bin/lakeledger", str(command))
        (tmp_path / name).write_text(text, encoding="utf-8")
    asked = tmp_path / unit.replace("@.", "@follower.")
    done = subprocess.run(
        [verify, "verify", "--man=no", "--recursive-errors=no", str(asked)],
        capture_output=True,
        text=True,
        check=False,
        env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
