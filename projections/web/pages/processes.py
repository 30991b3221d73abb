"""The page about the processes: this follower, and the others that it was told about."""

from projections.web.pages.page import Fields, PageView


def processes(view: PageView) -> Fields:
    """Gather the health of this follower."""
    return {"identity": view.reads.identity()}
