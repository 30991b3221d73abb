"""Ways to forge the files of a commit: each changes a good request, or the files that it names.

A forgery gets the request and a place outside the table.
"""

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.iceberg.clients.forged import (
    Record,
    manifests_of,
    path_of,
    records_of,
    rewritten,
    snapshot_of,
)

GB: Final = 1 << 30

Forge = Callable[[Record, Path], object]


def outside_list(request: Record, outside: Path) -> None:
    snapshot = snapshot_of(request)
    outside.write_bytes(path_of(snapshot["manifest-list"]).read_bytes())
    snapshot["manifest-list"] = f"file://{outside}"


def list_by_dots(request: Record, outside: Path) -> None:
    snapshot = snapshot_of(request)
    place = path_of(snapshot["manifest-list"])
    outside.write_bytes(place.read_bytes())
    up = "/".join([".."] * (len(place.parts) - 2))
    snapshot["manifest-list"] = f"{place.parent}/{up}{outside}"


def list_by_escaped_dots(request: Record, outside: Path) -> None:
    list_by_dots(request, outside)
    snapshot = snapshot_of(request)
    snapshot["manifest-list"] = "file://" + snapshot["manifest-list"].replace("..", "%2e%2e")


def manifest_by_escaped_dots(request: Record, outside: Path) -> None:
    (manifest,) = manifests_of(request)
    outside.write_bytes(manifest.read_bytes())
    up = "/".join(["%2e%2e"] * (len(manifest.parts) - 2))
    listing(request, manifest, manifest_path=f"file://{manifest.parent}/{up}{outside}")


def list_by_a_link(request: Record, outside: Path) -> None:
    snapshot = snapshot_of(request)
    place = path_of(snapshot["manifest-list"])
    outside.write_bytes(b"secret of another")
    link = place.with_name("link.avro")
    link.symlink_to(outside)
    snapshot["manifest-list"] = f"file://{link}"


def list_of_the_system(request: Record, _: Path) -> None:
    snapshot_of(request)["manifest-list"] = "/etc/passwd"


def list_by_http(request: Record, _: Path) -> None:
    snapshot_of(request)["manifest-list"] = "http://127.0.0.1:9/list.avro"


def list_that_is_absent(request: Record, _: Path) -> None:
    place = path_of(snapshot_of(request)["manifest-list"])
    place.unlink()


def list_of_a_gigabyte(request: Record, _: Path) -> None:
    with path_of(snapshot_of(request)["manifest-list"]).open("r+b") as file:
        file.truncate(GB)


def list_of_half_a_file(request: Record, _: Path) -> None:
    place = path_of(snapshot_of(request)["manifest-list"])
    place.write_bytes(place.read_bytes()[:-40])


def list_of_a_folder(request: Record, _: Path) -> None:
    snapshot = snapshot_of(request)
    snapshot["manifest-list"] = str(path_of(snapshot["manifest-list"]).parent)


def manifest_outside(request: Record, outside: Path) -> None:
    (manifest,) = manifests_of(request)
    outside.write_bytes(manifest.read_bytes())
    listing(request, manifest, manifest_path=str(outside))


def manifest_of_a_gigabyte(request: Record, _: Path) -> None:
    (manifest,) = manifests_of(request)
    with manifest.open("r+b") as file:
        file.truncate(GB)
    listing(request, manifest, manifest_length=GB)


def manifest_that_grows_when_read(request: Record, _: Path) -> None:
    """A block of Avro that is small, and a gigabyte once it is inflated."""
    (manifest,) = manifests_of(request)
    whole = manifest.read_bytes()
    marker = whole[-16:]
    head = whole[: whole.index(marker) + 16].replace(b"\x08null", b"\x0edeflate")
    assert b"deflate" in head, "the head of a manifest names its codec"
    squeezed = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = squeezed.compress(bytes(GB)) + squeezed.flush()
    manifest.write_bytes(head + zigzag(1_000_000) + zigzag(len(data)) + data + marker)
    listing(request, manifest, manifest_length=manifest.stat().st_size)


def zigzag(number: int) -> bytes:
    """Return a whole number in the form of Avro."""
    number <<= 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def manifest_that_is_its_list(request: Record, _: Path) -> None:
    place = path_of(snapshot_of(request)["manifest-list"])
    (manifest,) = manifests_of(request)
    listing(request, manifest, manifest_path=str(place))


def file_outside(request: Record, outside: Path) -> None:
    outside.write_bytes(b"rows of another")
    filing(request, file_path=str(outside))


def file_by_dots(request: Record, outside: Path) -> None:
    (manifest,) = manifests_of(request)
    place = path_of(records_of(manifest)[0]["data_file"]["file_path"])
    outside.write_bytes(b"rows of another")
    up = "/".join([".."] * (len(place.parts) - 2))
    filing(request, file_path=f"{place.parent}/{up}{outside}")


def file_by_escaped_dots(request: Record, outside: Path) -> None:
    (manifest,) = manifests_of(request)
    place = path_of(records_of(manifest)[0]["data_file"]["file_path"])
    outside.write_bytes(place.read_bytes())
    up = "/".join(["%2E%2E"] * (len(place.parts) - 2))
    filing(request, file_path=f"file://{place.parent}/{up}{outside}")


def file_in_the_metadata(request: Record, _: Path) -> None:
    filing(request, file_path=str(path_of(snapshot_of(request)["manifest-list"])))


def fewer_rows_than_none(request: Record, _: Path) -> None:
    filing(request, record_count=-1)


def smaller_than_nothing(request: Record, _: Path) -> None:
    filing(request, file_size_in_bytes=-5)


def another_format(request: Record, _: Path) -> None:
    filing(request, file_format="ORC")


def equality_deletes(request: Record, _: Path) -> None:
    filing(request, content=2)


def listing(request: Record, manifest: Path, **more: Any) -> None:
    """Change what the list of a request says of a manifest."""
    place = path_of(snapshot_of(request)["manifest-list"])
    rewritten(
        place,
        lambda rows: [
            {**row, **more} if path_of(row["manifest_path"]) == manifest else row for row in rows
        ],
    )


def filing(request: Record, **more: Any) -> None:
    """Change what the manifest of a request says of its file."""
    (manifest,) = manifests_of(request)
    rewritten(
        manifest, lambda rows: [{**row, "data_file": {**row["data_file"], **more}} for row in rows]
    )
    listing(request, manifest, manifest_length=manifest.stat().st_size)


FORGED: Final[tuple[Forge, ...]] = (
    *(outside_list, list_by_dots, list_by_escaped_dots, list_by_a_link, list_of_the_system),
    *(list_by_http, list_that_is_absent, list_of_a_gigabyte, list_of_half_a_file),
    *(list_of_a_folder, manifest_outside, manifest_of_a_gigabyte, manifest_that_grows_when_read),
    *(manifest_that_is_its_list, file_outside, file_by_dots),
    *(manifest_by_escaped_dots, file_by_escaped_dots, file_in_the_metadata),
    *(fewer_rows_than_none, smaller_than_nothing, another_format),
    *(equality_deletes,),
)
