"""Backup and restore: the events of a ledger as files, and topics made of those files.

The events are the truth; everything else in a cluster is made from them, or is a command in flight.
A backup holds every record of the events topic, in files of bounded size beside one manifest.
"""
