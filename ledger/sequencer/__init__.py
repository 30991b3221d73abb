"""The sequencer: leads one domain, answers its commands, and ends silent sessions."""
