"""Definitions of a commit: columns, specs, orders and properties that a client asks for."""
