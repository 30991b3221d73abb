"""Cut simulated logs: `python -m tests.recovery --seeds N [--first K]`.

The last line counts the seeds that passed and failed; exit status 1 if any failed.
"""

import argparse

import structlog

from tests.recovery.simulated import run

ERROR_LEVEL = 40


def main() -> None:
    """Run the seeds that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.recovery", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    asked = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(ERROR_LEVEL))
    failed = 0
    for seed in range(asked.first, asked.first + asked.seeds):
        try:
            run(seed)
        except Exception as error:  # noqa: BLE001 - any exception is a finding
            failed += 1
            print(f"seed {seed}: {type(error).__name__}: {error}", flush=True)
    print(f"{asked.seeds - failed} passed, {failed} failed")
    raise SystemExit(1 if failed else 0)


main()
