"""Run the series: `python -m tests.integration.power --batches N --seed S`."""

import sys

from tests.integration.power.series import main

if __name__ == "__main__":
    sys.exit(main())
