"""The sequencer: leads one domain, answers its commands, ends what fell silent."""
