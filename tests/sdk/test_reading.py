"""What a client reads, what it waits for, and the tokens and outcomes it hands on."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event as Signal
from typing import Any, Final

import pytest

from ledger.client import Ledger
from ledger.config.settings import ClientSettings
from ledger.definitions.client_reads import open_store
from ledger.errors import LogError, ReaderBehindError, SettingsError
from ledger.log.lossy import LossyLog
from ledger.log.memory import MemoryLog
from ledger.session.receipt import Outcome, Token
from ledger.testing import InMemoryLedger
from tests.oracle.reads import StateReads

WAIT_S: Final = 5.0


@pytest.mark.parametrize(
    ("chain", "text"),
    [("", "5f3a9c1e:0:44"), ("0b1d94ac5c7fe210", "5f3a9c1e:0:44:0b1d94ac5c7fe210")],
)
def test_a_token_survives_its_text_form(chain: str, text: str) -> None:
    token = Token("5f3a9c1e", 0, 44, chain)

    assert str(token) == text
    assert (Token.parse(text), Token.parse(text).chain) == (token, chain)
    assert token == Token("5f3a9c1e", 0, 44)


@pytest.mark.parametrize(
    "text",
    [
        *("", "44", "5f3a:0", ":0:44", "5f3a:0:x", "5f3a:0:-1", "a:b:0:1", "5f3a:0:44:"),
        *("5f3a:0:44:0b", "5f3a:0:44:0b1d94ac5c7fe21x", "5f3a:0:44:0b1d94ac5c7fe210:1"),
    ],
)
def test_a_text_that_is_no_token_is_told_so_with_one_that_is(text: str) -> None:
    with pytest.raises(ValueError, match="must look like 5f3a9c1e:0:44"):
        Token.parse(text)


def test_wait_for_the_write_of_another(ledger: Ledger, memory: InMemoryLedger) -> None:
    other = memory.connect()
    ledger.create_table("flights")
    token = ledger.token

    positions = [other.wait(each) for each in (token, str(token), token.position)]

    assert min(positions) >= token.position
    assert other.table("flights").name == "flights"


def test_a_position_is_not_waited_for_longer_than_asked(ledger: Ledger) -> None:
    with pytest.raises(ReaderBehindError) as raised:
        ledger.wait(1_000_000, timeout_s=0.01)

    assert raised.value.wanted == 1_000_000


def test_a_token_of_another_ledger_is_not_taken_for_a_position_of_this_one(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="not of this ledger"):
        ledger.wait(Token("5f3a9c1e", 0, 1))


class Behind(StateReads):
    """A read model whose follower stands still at the position it was made at."""

    def wait(self, position: int, timeout_ms: int) -> int:
        if position > 1:
            raise ReaderBehindError(1, position, timeout_ms)
        return 1


def test_a_read_never_misses_the_clients_own_write(memory: InMemoryLedger, log: LossyLog) -> None:
    with Ledger.connect(log=log, reads=Behind(log), timeout_s=5.0) as ledger:
        before = ledger.tables()
        ledger.create_table("flights")

        with pytest.raises(ReaderBehindError) as raised:
            ledger.tables()

    assert before == []
    assert raised.value.wanted == ledger.token.position
    assert memory.reads.position() > ledger.token.position


def test_outcome_of_the_read_model(ledger: Ledger, memory: InMemoryLedger) -> None:
    txn = ledger.begin()
    session = memory.reads.history(txn.opened - 1, 1)[0].session
    ledger.close()

    outcome = memory.connect().outcome(session, 1)

    assert outcome == Outcome(session, 1, outcome.as_of, "TxnOpened", txn.opened, txn.id, 1)
    assert outcome.is_known
    assert str(outcome) == (
        f"command 1 of session {session} was answered at position {txn.opened}: TxnOpened, "
        f"1 from {txn.id} on"
    )


def test_a_command_without_an_answer_yet_is_told_as_such(ledger: Ledger) -> None:
    outcome = ledger.outcome(4, 1_000)

    assert not outcome.is_known
    assert str(outcome).endswith(f"no answer up to position {outcome.as_of}; ask again later")


def test_a_log_without_a_ledger_in_it_is_told_so_with_what_starts_one() -> None:
    with pytest.raises(SettingsError, match="lakeledger up"):
        Ledger(MemoryLog(), open_reads=lambda: None, settings=ClientSettings(timeout_s=0.01))  # type: ignore[arg-type,return-value]


def test_made_by_hand() -> None:
    """What is taken for the way to connect names the right one."""
    make: Any = Ledger
    for given in ((), ("127.0.0.1:9092",)):
        with pytest.raises(TypeError, match=r"connect with Ledger\.connect"):
            make(*given)
    with pytest.raises(TypeError, match=r"connect with Ledger\.connect"):
        make("127.0.0.1:9092", catalog="lake")


def test_writes_do_not_wait_for_rows_to_open(memory: InMemoryLedger) -> None:
    """While one thread opens the read model, which may take long, another goes on to write."""
    is_opening, may_open = Signal(), Signal()

    def open_reads() -> StateReads:
        is_opening.set()
        may_open.wait(WAIT_S)
        return StateReads(memory.log)

    with (
        closing(Ledger(memory.log, open_reads=open_reads)) as ledger,
        ThreadPoolExecutor(1) as pool,
    ):
        reading = pool.submit(ledger.tables)
        is_opening.wait(WAIT_S)
        ledger.begin().abort()
        is_open = reading.done()
        may_open.set()

        assert (is_open, len(reading.result())) == (False, 0)


def test_nothing_to_read_from(memory: InMemoryLedger, log: LossyLog) -> None:
    assert memory.log is log
    with Ledger.connect(log=log) as ledger, pytest.raises(SettingsError, match="reads="):
        ledger.snapshot()


def test_nobody_reads_the_store() -> None:
    with pytest.raises(SettingsError, match=r"no entry point tests\.none"):
        open_store(Path("rows"), "tests.none")


def test_store_is_read_by_what_is_installed(tmp_path: Path) -> None:
    info = tmp_path / "reader-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: reader\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tests.reads]\nplain = os.path:basename\n")
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    script = (
        "from pathlib import Path\n"
        "from ledger.definitions.client_reads import open_store\n"
        "print(open_store(Path('lake/rows'), 'tests.reads'))\n"
    )
    environ = {**os.environ, "PYTHONPATH": paths}

    said = subprocess.check_output([sys.executable, "-c", script], env=environ, text=True)

    assert said.strip() == "rows"


def test_a_closed_ledger_says_so_and_may_be_closed_again(ledger: Ledger) -> None:
    ledger.create_table("flights")
    ledger.close()
    ledger.close()

    with pytest.raises(LogError, match="was closed"):
        ledger.begin()
