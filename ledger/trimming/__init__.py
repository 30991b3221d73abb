"""Trims of the log: what must hold before events leave it, and how they leave."""
