"""The notifier: a thread for each receiver that the settings name, until one of them ends for good.

Receivers share nothing but the process: one that does not answer holds up itself alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Final

from ledger.backup.images.starting import BY_TRIM, StartImages
from ledger.config.settings import NotifierSettings
from ledger.errors import SettingsError
from ledger.log.port import Log, LogWriter
from projections.fold.lag import Lag
from projections.notifier import cloud_events, open_lineage
from projections.notifier.delivery import Delivery
from projections.notifier.receivers import FileReceiver, TopicReceiver, WebReceiver, is_web

WEBHOOK: Final = "webhook"
TOPIC: Final = "topic"
LINEAGE: Final = "openlineage"
LOOK_S: Final = 0.1

MakeWriter = Callable[[str, Mapping[str, str]], LogWriter]
"""Makes a writer to a topic, with the headers of its records."""


class Notifier:
    """Runs deliveries; `deliveries` are in the order of their names."""

    def __init__(self, deliveries: Sequence[Delivery]) -> None:
        self.deliveries = sorted(deliveries, key=lambda delivery: delivery.name)

    @property
    def position(self) -> int:
        """The position up to which each receiver has everything."""
        return min((delivery.position for delivery in self.deliveries), default=0)

    def lag(self) -> Lag | None:
        """Return the lag of the receiver that is furthest behind; any thread may call."""
        lags = [lag for delivery in self.deliveries if (lag := delivery.lag()) is not None]
        return max(lags, key=lambda lag: (lag.behind_ms, lag.records), default=None)

    def run(self, log: Log, stop: Signal) -> None:
        """Tell all receivers until `stop` is set; raises the error that ended one of them."""
        ended, problems = Signal(), list[BaseException]()
        threads = [
            Thread(target=self._tell, args=(delivery, log, ended, problems))
            for delivery in self.deliveries
        ]
        for thread in threads:
            thread.start()
        while not stop.wait(LOOK_S) and not problems:
            pass
        ended.set()
        for thread in threads:
            thread.join()
        if problems:
            raise problems[0]

    def close(self) -> None:
        """Release all receivers."""
        with ExitStack() as steps:
            for delivery in self.deliveries:
                steps.callback(delivery.close)

    @staticmethod
    def _tell(delivery: Delivery, log: Log, stop: Signal, problems: list[BaseException]) -> None:
        try:
            delivery.run(log, stop)
        except BaseException as problem:  # noqa: BLE001 - raised again by the thread of the role
            problems.append(problem)


def deliveries_of(
    settings: NotifierSettings,
    place: Path,
    ledger: str,
    make_writer: MakeWriter,
    images: StartImages = BY_TRIM,
) -> Iterator[Delivery]:
    """Yield the deliveries that the settings name, each with its place in a folder.

    Raises SettingsError if they name none, or a place that is no receiver.
    """
    if not settings.is_on:
        raise SettingsError(
            "a notifier needs a receiver: set notifier.webhook, notifier.topic or "
            "notifier.openlineage"
        )
    to = partial(Delivery, from_first=settings.from_first, images=images)
    web = partial(WebReceiver, token_file=settings.token_file)
    if settings.webhook is not None:
        receiver = web(settings.webhook, cloud_events.CONTENT_TYPE)
        yield to(WEBHOOK, receiver, cloud_events.cloud_event, place=place / WEBHOOK)
    if settings.topic is not None:
        headers = {"content-type": cloud_events.CONTENT_TYPE}
        topic = TopicReceiver(partial(make_writer, settings.topic, headers), ledger)
        yield to(TOPIC, topic, cloud_events.cloud_event, place=place / TOPIC)
    if (lineage := settings.openlineage) is not None:
        taker = (
            web(lineage, open_lineage.CONTENT_TYPE)
            if is_web(lineage)
            else FileReceiver(Path(lineage).expanduser())
        )
        yield to(LINEAGE, taker, open_lineage.run_event, place=place / LINEAGE)
