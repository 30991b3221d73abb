"""Progress and domain metadata in staged chunks, for commits that do not fit one record.

A chunk may carry progress of applications and domain metadata as well as files. The configuration
of one domain may come in pieces: it is the concatenation of all entries with its name.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from ledger.core.commands import Domain, Footprint
from ledger.core.conflicts.footprints import TEXT_BYTES, joined, weight


def whole_footprint(chunks: Sequence[Footprint], last: Footprint) -> Footprint:
    """Return the footprint joined from all its chunks, with the progress and domains of each."""
    found = joined(chunks, last)
    if not any(chunk.apps or chunk.domains for chunk in chunks):
        return found
    every = (*chunks, last)
    return found._replace(
        apps=list(chain.from_iterable(each.apps for each in every)),
        domains=whole_domains(chain.from_iterable(each.domains for each in every)),
    )


def whole_domains(pieces: Iterable[Domain]) -> list[Domain]:
    """Return each domain once, with the joined configuration of its pieces."""
    found: dict[str, list[Domain]] = {}
    for piece in pieces:
        found.setdefault(piece.name, []).append(piece)
    return [
        each[-1]._replace(configuration="".join(piece.configuration for piece in each))
        for each in found.values()
    ]


def repeated_app(footprint: Footprint) -> str:
    """Return the first application that a footprint records twice, "" if all differ."""
    seen: set[str] = set()
    for app, _ in footprint.apps:
        if app in seen:
            return app
        seen.add(app)
    return ""


def staged_weight(chunk: Footprint) -> int:
    """Return about how many bytes a chunk takes in memory until its commit."""
    apps = sum(TEXT_BYTES + len(app.app) for app in chunk.apps)
    domains = sum(TEXT_BYTES + len(domain.name + domain.configuration) for domain in chunk.domains)
    return weight(chunk) + apps + domains
