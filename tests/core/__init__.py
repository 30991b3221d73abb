"""Tests of the pure core."""

import pytest

# Where rows are checked for several tables of them; a failure shows both sides.
pytest.register_assert_rewrite("tests.core.scene")
