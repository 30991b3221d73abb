"""The command line of the checker: `python -m tests.consistency COMMAND`."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.benchmarks import peer
from tests.consistency.run import Run, carry_out, play_scenes, report, run_module
from tests.consistency.summary import shown, tables
from tests.consistency.systems import SUBJECTS, chosen
from tests.consistency.whole import ledger_shares, peer_shares, run_shares, sharing

MINUTES: Final = {"ledger": "all in all", "peers": "for the clients of each peer"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as the command line says and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.consistency", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run one subject and judge its history")
    run.add_argument("subject", choices=SUBJECTS)
    run.add_argument("--level", help="default: the first one that the subject has")
    run.add_argument("--grain", help="default: the first one that the subject has")
    run.add_argument("--seed", type=int, default=1)
    run.add_argument("--seconds", type=float, default=60)
    run.add_argument("--faults", default="kill,pause", help="kill, pause, cut; empty for none")
    run.add_argument("--folder", type=Path, help="where the history stays")
    scenes = commands.add_parser("scenes", help="play the smallest histories, each step in turn")
    scenes.add_argument("subject", choices=SUBJECTS)
    scenes.add_argument("--level", help="default: the first one that the subject has")
    scenes.add_argument("--grain", help="default: the first one that the subject has")
    for name, minutes in (("ledger", 24.0), ("peers", 10.0)):
        whole = commands.add_parser(name, help=f"run all subjects: {name}")
        whole.add_argument("--minutes", type=float, default=minutes, help=MINUTES[name])
        whole.add_argument("--seed", type=int, default=1)
        whole.add_argument("--folder", type=Path, help="where the histories stay")
    commands.add_parser("faults-of-ducklake", help="show its known faults, step by step")
    judged = commands.add_parser("judge", help="judge the history of a folder again")
    judged.add_argument("folder", type=Path)
    shows = commands.add_parser("tables", help="print the tables of runs again")
    shows.add_argument("folders", type=Path, nargs="+", help="of runs, or of a whole check")
    options = parser.parse_args(arguments)
    if options.command == "judge":
        return 1 if report(options.folder).forbidden else 0
    if options.command == "faults-of-ducklake":
        return run_module("tests.consistency.subjects.ducklake_faults", peer.DUCKLAKE)
    if options.command in MINUTES:
        return run_whole(options)
    if options.command == "tables":
        files = [file for place in options.folders for file in place.rglob("run.json")]
        in_order = sorted(files, key=lambda file: file.stat().st_mtime)
        print("\n".join(tables([shown(file.parent) for file in in_order])))
        return 0
    try:
        level, grain = chosen(options.subject, options.level, options.grain)
    except ValueError as error:
        parser.error(str(error))
    if options.command == "scenes":
        return play_scenes(options.subject, level, grain)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="consistency-"))
    faults = [fault for fault in options.faults.split(",") if fault]
    made = Run(options.subject, level, grain, options.seed, options.seconds, faults, folder)
    print(f"history in {folder}")
    return 1 if carry_out(made).forbidden else 0


def run_whole(options: argparse.Namespace) -> int:
    """Run all subjects of the ledger, which share the time, or all peers, each for that time."""
    folder = options.folder or Path(tempfile.mkdtemp(prefix="consistency-"))
    print(f"histories in {folder}")
    seconds = options.minutes * 60
    if options.command == "peers":
        return run_shares(list(peer_shares()), lambda _: seconds, options.seed, folder)
    shares = list(ledger_shares())
    return run_shares(shares, sharing(shares, seconds), options.seed, folder)


if __name__ == "__main__":
    sys.exit(main())
