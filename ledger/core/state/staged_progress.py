"""Progress and domains that chunks brought: those of a commit are too many, or too long, for one.

A chunk may carry progress of applications and domain metadata as well as files. The configuration
of one domain may come in pieces: it is that of all entries of its name, one after the other.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from ledger.core.commands import Domain, Footprint
from ledger.core.conflicts.footprints import TEXT_BYTES, joined, weight


def whole_footprint(chunks: Sequence[Footprint], last: Footprint) -> Footprint:
    """Return one footprint of all its chunks, with the progress and domains of each."""
    found = joined(chunks, last)
    if not any(each.apps or each.domains for each in chunks):
        return found
    every = (*chunks, last)
    return found._replace(
        apps=list(chain.from_iterable(each.apps for each in every)),
        domains=whole_domains(chain.from_iterable(each.domains for each in every)),
    )


def whole_domains(pieces: Iterable[Domain]) -> list[Domain]:
    """Return each domain once, with the configuration of all its pieces."""
    found: dict[str, list[Domain]] = {}
    for piece in pieces:
        found.setdefault(piece.name, []).append(piece)
    return [
        each[-1]._replace(configuration="".join(piece.configuration for piece in each))
        for each in found.values()
    ]


def repeated_app(footprint: Footprint) -> str:
    """Return an application whose progress a footprint records twice, "" if there is none."""
    seen: set[str] = set()
    for app, _ in footprint.apps:
        if app in seen:
            return app
        seen.add(app)
    return ""


def staged_weight(chunk: Footprint) -> int:
    """Return the bytes that a chunk takes in memory until its commit, about."""
    apps = sum(TEXT_BYTES + len(each.app) for each in chunk.apps)
    domains = sum(TEXT_BYTES + len(each.name + each.configuration) for each in chunk.domains)
    return weight(chunk) + apps + domains
