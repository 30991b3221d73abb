"""Commands that list the processes which follow the log, and forget one that is gone."""

from contextlib import closing
from typing import Annotated

import typer

from ledger.cli.answers import Output, OutputOption, answer, answer_rows
from ledger.cli.options import BootstrapOption, NameOption
from ledger.clock import SystemClock, time_text
from ledger.errors import SettingsError
from ledger.log.consumers import Consumer, forget, registered
from ledger.log.log_end import last_position
from ledger.log.port import Log

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def consumers_list(
    *,
    bootstrap: BootstrapOption = None,
    ledger: NameOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the processes that follow the log: how far each is, and when it said so."""
    from ledger.config.search import find_address, log_of  # noqa: PLC0415 - a command loads what it uses
    from ledger.trimming.look import consumer_seen  # noqa: PLC0415

    with closing(log_of(find_address(bootstrap, ledger))) as log:
        end, now_ms = last_position(log, 0), SystemClock().now_ms()
        seen = [consumer_seen(each, end, now_ms) for each in known(log)]
    answer_rows([{**each._asdict(), "at": time_text(each.at)} for each in seen], output)


@app.command("forget")
def consumers_forget(
    role: Annotated[str, typer.Argument(help="The role of the consumer, such as follower.")],
    name: Annotated[str, typer.Argument(help="Its name, as the list has it.")],
    *,
    bootstrap: BootstrapOption = None,
    ledger: NameOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Let no trim of the log wait for a consumer that is gone for good.

    One that still runs registers itself again. One that comes back after a trim may have to begin
    with an image.
    """
    from ledger.config.search import find_address, log_of  # noqa: PLC0415

    with closing(log_of(find_address(bootstrap, ledger))) as log:
        if (role, name) not in {(each.role, each.name) for each in known(log)}:
            raise SettingsError(
                f"there is no consumer {role} {name}; lakeledger consumers list shows them"
            )
        forget(log, 0, role, name)
    answer({"role": role, "name": name, "forgotten": True}, output)


def known(log: Log) -> list[Consumer]:
    """Return the registered consumers; raises SettingsError for a ledger without their topic."""
    found = registered(log)
    if found is None:
        raise SettingsError(
            "the ledger has no topic of consumers; lakeledger init creates it, and its processes "
            "register themselves when they are started again"
        )
    return found
