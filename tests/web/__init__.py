"""Tests of reads over HTTP: a real server in the process of the test, and real clients."""
