"""Backups with small files, as a program: bootstrap, ledger, path and bytes of a file.

The command line writes files so large that a test would not see the second one.
"""

import sys
from contextlib import closing
from pathlib import Path
from threading import Event as Signal

from ledger.backup.place import FolderPlace
from ledger.backup.taking import take
from ledger.log.kafka.log import KafkaLog
from ledger.machine.process import heed_signals
from tests.backup.benches import TOPICS


def main(bootstrap: str, ledger: str, path: str, file_bytes: str) -> None:
    """Take a backup until it is whole, or Ctrl-C."""
    stop = Signal()
    heed_signals(stop)
    with closing(KafkaLog(bootstrap, ledger)) as log:
        take(log, FolderPlace(Path(path)), TOPICS, stop=stop, file_bytes=int(file_bytes))


if __name__ == "__main__":
    main(*sys.argv[1:])
