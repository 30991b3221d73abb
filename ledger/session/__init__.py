"""One conversation with the sequencer: commands out, answers in, and refusals as errors."""
