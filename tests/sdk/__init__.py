"""Tests of the SDK: real client, sequencer and log, in memory or, marked kafka, on a broker."""
