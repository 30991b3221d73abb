# Everything runs from a virtual environment in .venv; `make setup` makes it, every other target
# calls setup first. Once set up, nothing here needs a network.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
CASES ?= ../shared/cases
BIN := .venv/bin
RUN := $(BIN)/python -m

.PHONY: setup hashes test demo bench docs changelog lint types pytest conformance simulation simulate consistency

setup: .venv/installed
	@$(RUN) ledger.machine.kafka.jars
	@$(RUN) spark_sink.catalog.compiled

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "LakeLedger needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[spark,sql,java,s3,demo,dev,docs]'
	@touch $@

# A fresh .venv of just those files that were tested; any other, whoever offers it, is refused. The
# hashes are those of CPython 3.11 on Linux, x86-64; elsewhere `make setup` goes by versions alone.
hashes:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --require-hashes --no-deps --requirement constraints-hashed.txt
	@$(MAKE) setup

# What runs in one process runs beside another; the tests wait for processes and have both cores.
test: lint
	@$(MAKE) --jobs=2 types conformance simulation
	@$(MAKE) pytest

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: setup
	$(BIN)/mypy

# Three modules at a time on two cores: more than half of the time tests wait for processes and clocks.
# tests/conftest.py orders the modules. A test that hangs fails after ten minutes, with the stack of
# each thread; one that no signal ends shows its stacks a minute later.
pytest: setup
	$(RUN) pytest -m 'not slow' -n 3 --dist loadfile --no-loadscope-reorder \
	  --timeout 600 -o faulthandler_timeout=660

# The cases lie outside the repository and may be absent.
conformance: setup
	@if [ -d $(CASES) ]; then set -x -e; \
	  $(RUN) tests.conformance hive $(CASES)/hive_cases.json --log memory; \
	  $(RUN) tests.conformance hive $(CASES)/hive_random_cases.json --log memory; \
	  $(RUN) tests.conformance hive-format $(CASES)/hive_snapshot_format.json; \
	  $(RUN) tests.conformance delta $(CASES)/delta_cases.json; \
	  $(RUN) tests.conformance cache $(CASES)/cache_cases.json; \
	else echo "conformance: skipped, there is no $(CASES)"; fi

simulation: setup
	$(RUN) tests.simulation --seeds 500

# Seeds on all cores for some hours: make simulate HOURS=8 FIRST=1000000
HOURS ?= 1
FIRST ?= 1000000
simulate: setup
	$(RUN) tests.simulation --hours $(HOURS) --first $(FIRST)

# All subjects of the ledger in the checker of histories; docs/consistency.md has the others.
MINUTES ?= 24
consistency: setup
	$(RUN) tests.consistency ledger --minutes $(MINUTES)

demo: setup
	$(RUN) tests.demo $(ARGS)

# Pages that are made from the code, then all of them as a site in build/docs.
docs: setup
	$(RUN) tests.docs.make
	$(RUN) sphinx --quiet --fail-on-warning --keep-going docs build/docs
	@echo "open build/docs/index.html"

# What docs/changes says of a release goes to CHANGELOG.md: make changelog VERSION=0.2.0
changelog: setup
	$(RUN) tests.docs.changelog $(VERSION)

bench: setup
	$(RUN) tests.benchmarks $(ARGS)
