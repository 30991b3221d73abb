"""Reads over HTTP: the paths, the form of answers, and clients of every role."""
