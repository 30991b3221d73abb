"""Second names of data files, so that a file comes back that a client deleted though it is listed.

DuckDB 1.5 deletes the files of a commit that it takes for failed. Where a server was killed before
its answer the commit may have been executed, and then the table lacks rows. Nothing but a copy
brings them back. Hard links cost nothing, and the count of files that came back is reported.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Final

LOOK_S: Final = 0.03
RESTORE_EVERY: Final = 30


class KeptFiles:
    """Links every data file below some folders, until `close`.

    Attributes:
        restored: the files that came back.
    """

    def __init__(
        self, tables: Iterable[Path], kept: Path, listed: Callable[[], Iterable[Path]]
    ) -> None:
        self._folders = [table / "data" for table in tables]
        self._kept, self._listed = kept, listed
        self._known: dict[Path, Path] = {}
        self.restored: list[Path] = []
        kept.mkdir()
        self._stop = Signal()
        self._thread = Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to link."""
        self._thread.start()

    def close(self) -> None:
        """End, after all listed files are in their places again."""
        self._stop.set()
        self._thread.join()
        self.restore()

    def restore(self) -> None:
        """Put every listed file that is gone back to its place."""
        for path in self._listed():
            if path in self._known and not path.exists():
                os.link(self._known[path], path)
                self.restored.append(path)

    def _run(self) -> None:
        turn = 0
        while not self._stop.wait(LOOK_S):
            for folder in self._folders:
                self._link(folder)
            turn += 1
            if turn % RESTORE_EVERY == 0:
                self.restore()

    def _link(self, folder: Path) -> None:
        # A table without files of clients has no such folder; a file may go while it is linked.
        with suppress(FileNotFoundError), os.scandir(folder) as found:
            for each in found:
                path = Path(each.path)
                if path not in self._known:
                    second = self._kept / f"{len(self._known)}"
                    with suppress(FileNotFoundError):
                        os.link(path, second)
                        self._known[path] = second
