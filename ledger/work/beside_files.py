"""The parts of a commit besides files, in chunks that each fit one record.

The commit itself holds the progress of applications, domain metadata and the writer's info while
they are small. Each larger kind is staged before the commit. Long texts are cut in pieces.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from ledger.core.commands import AppVersion, Domain, Footprint
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT
from ledger.core.limits import FOOTPRINT_BYTES_MAX, RIDING_BYTES_MAX, TEXT_CHARS_MAX
from ledger.log.wire.file_list import FileList, pack, unpack

# A number, and the lengths of texts.
NUMBERS_BYTES_MAX: Final = 16

Item = TypeVar("Item")


def chunks_beside_files(head: Footprint) -> Iterator[Footprint]:
    """Yield chunks of each kind besides files that is too large for the commit."""
    if len(head.files) > RIDING_BYTES_MAX:
        for piece in pieces_of(unpack(head.files).info):
            yield EMPTY_FOOTPRINT._replace(files=pack(FileList(info=piece)))
    if domain_bytes(head) > RIDING_BYTES_MAX:
        pieces = (
            domain._replace(configuration=piece)
            for domain in head.domains
            for piece in pieces_of(domain.configuration)
        )
        for domains in grouped(pieces, bytes_of_domain):
            yield EMPTY_FOOTPRINT._replace(domains=domains)
    if app_bytes(head) > RIDING_BYTES_MAX:
        for apps in grouped(head.apps, bytes_of_app):
            yield EMPTY_FOOTPRINT._replace(apps=apps)


def without_staged(head: Footprint) -> Footprint:
    """Return a footprint without the parts that `chunks_beside_files` yields."""
    return head._replace(
        files=b"" if len(head.files) > RIDING_BYTES_MAX else head.files,
        domains=() if domain_bytes(head) > RIDING_BYTES_MAX else head.domains,
        apps=() if app_bytes(head) > RIDING_BYTES_MAX else head.apps,
    )


def pieces_of(text: str) -> Iterator[str]:
    """Yield the pieces of a text that each fit one record; an empty text is one piece."""
    for at in range(0, max(len(text), 1), TEXT_CHARS_MAX):
        yield text[at : at + TEXT_CHARS_MAX]


def grouped(items: Iterable[Item], size: Callable[[Item], int]) -> Iterator[list[Item]]:
    """Yield the items in lists that each fit one record."""
    group: list[Item] = []
    room = FOOTPRINT_BYTES_MAX
    for item in items:
        needed = size(item) + NUMBERS_BYTES_MAX
        room -= needed
        if group and room < 0:
            yield group
            group, room = [], FOOTPRINT_BYTES_MAX - needed
        group.append(item)
    if group:
        yield group


def domain_bytes(footprint: Footprint) -> int:
    """Return about how many bytes the domains of a footprint take in a record."""
    return sum(map(bytes_of_domain, footprint.domains))


def app_bytes(footprint: Footprint) -> int:
    """Return about how many bytes the progress of applications takes in a record."""
    return sum(map(bytes_of_app, footprint.apps))


def bytes_of_domain(domain: Domain) -> int:
    """Return about how many bytes a domain takes in a record."""
    return len((domain.name + domain.configuration).encode())


def bytes_of_app(app: AppVersion) -> int:
    """Return about how many bytes the progress of one application takes in a record."""
    return len(app.app.encode()) + NUMBERS_BYTES_MAX
