"""Which repository is chosen on machines that are set up in different ways."""

from pathlib import Path

import pytest

from ledger.errors import SettingsError
from ledger.machine.kafka.maven import Repository, find_repository

NAMESPACE = 'xmlns="http://maven.apache.org/SETTINGS/1.2.0"'


def settings(folder: Path, mirror_of: str, *, server: str = "", namespace: str = NAMESPACE) -> None:
    """Write a user's settings.xml with one mirror."""
    file = folder / ".m2/settings.xml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        f"<settings {namespace}><servers>{server}</servers><mirrors><mirror><id>near</id>"
        f"<url> https://near.example/maven </url><mirrorOf>{mirror_of}</mirrorOf></mirror>"
        "</mirrors></settings>"
    )


@pytest.mark.parametrize(
    ("mirror_of", "taken"),
    [
        ("central", True),
        ("*", True),
        ("external:*", True),
        ("snapshots, central", True),
        ("*,!snapshots", True),
        ("*,!central", False),
        ("external:http:*", False),
        ("snapshots", False),
    ],
)
@pytest.mark.parametrize("namespace", [NAMESPACE, ""])
def test_mirror(tmp_path: Path, mirror_of: str, namespace: str, *, taken: bool) -> None:
    """A mirror is taken if and only if Maven would ask it for what is in Maven Central."""
    settings(tmp_path, mirror_of, namespace=namespace)
    expected = Repository("https://near.example/maven") if taken else None
    assert find_repository({"HOME": str(tmp_path)}) == expected


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ("<id>near</id><username>me</username><password>word</password>", ("me", "word")),
        ("<id>near</id><username>me</username><password>${env.WORD}</password>", ("me", "hidden")),
        ("<id>far</id><username>me</username><password>word</password>", ("", "")),
    ],
)
def test_login(tmp_path: Path, server: str, expected: tuple[str, str]) -> None:
    """The login is that of the server with the mirror's id, with variables filled in."""
    settings(tmp_path, "*", server=f"<server>{server}</server>")
    found = find_repository({"HOME": str(tmp_path), "WORD": "hidden"})
    assert found == Repository("https://near.example/maven", *expected)


def test_password_is_not_shown() -> None:
    assert "word" not in repr(Repository("https://near.example", "me", "word"))


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"LAKELEDGER_MAVEN_REPO": "https://ours.example"}, Repository("https://ours.example")),
        ({"DEFAULT_ARTIFACT_REPOSITORY": "https://s.example"}, Repository("https://s.example")),
        (
            {"LAKELEDGER_MAVEN_REPO": "https://a.example", "DEFAULT_ARTIFACT_REPOSITORY": "b"},
            Repository("https://a.example"),
        ),
    ],
)
def test_a_variable_wins_over_the_settings_file_ours_over_sparks(
    tmp_path: Path, environ: dict[str, str], expected: Repository
) -> None:
    settings(tmp_path, "*")
    assert find_repository(environ | {"HOME": str(tmp_path)}) == expected


def test_without_settings_of_the_user_those_of_the_maven_installation_count(tmp_path: Path) -> None:
    settings(tmp_path, "central")
    (tmp_path / ".m2").rename(tmp_path / "conf")
    found = find_repository({"HOME": str(tmp_path), "MAVEN_HOME": str(tmp_path)})
    assert found == Repository("https://near.example/maven")


def test_nothing_is_set_up(tmp_path: Path) -> None:
    assert find_repository({"HOME": str(tmp_path)}) is None


def test_a_settings_file_that_is_not_xml_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    settings(tmp_path, "<")
    with pytest.raises(SettingsError, match=r"settings\.xml cannot be read as XML"):
        find_repository({"HOME": str(tmp_path)})
