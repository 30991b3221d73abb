"""Commands over one machine: its processes, settings, rights and state."""
