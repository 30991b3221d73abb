"""Tests of the README and the pages in docs: what they show runs, what they name is there."""
