"""A log that outlives its process: in memory, and each record in a file before it counts."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ledger.log.memory import MemoryLog, MemoryTopic, MemoryWriter
from ledger.log.port import Topic

HEAD: Final = struct.Struct(">BII")


class KeptLog(MemoryLog):
    """A log whose records are in a file, as a broker keeps them when a client is killed."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        for topic, key, value in self._kept():
            MemoryWriter(self, self.topics[topic]).append(key, value)

    def writer(self, topic: Topic) -> "KeptWriter":
        return KeptWriter(self, self.topics[topic])

    def _kept(self) -> Iterator[tuple[Topic, bytes, bytes]]:
        data = self.path.read_bytes() if self.path.exists() else b""
        topics, at = list(Topic), 0
        while at < len(data):
            topic, key, value = HEAD.unpack_from(data, at)
            at += HEAD.size
            yield topics[topic], data[at : at + key], data[at + key : at + key + value]
            at += key + value


class KeptWriter(MemoryWriter):
    """Appends to the file, and then to memory."""

    def __init__(self, log: KeptLog, topic: MemoryTopic) -> None:
        super().__init__(log, topic)
        self._kept = log
        self._number = list(Topic).index(topic.name)

    def append(self, key: bytes, value: bytes) -> None:
        with self._kept.changed:
            record = HEAD.pack(self._number, len(key), len(value)) + key + value
            file = os.open(self._kept.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            try:
                assert os.write(file, record) == len(record)
            finally:
                os.close(file)
            super().append(key, value)
