"""Backup and restore: the events of a ledger as files, and topics made of those files.

The events are the truth; everything else in a cluster is made of them, or is on its way. A backup
holds every record of the events topic, in files of bounded size beside one manifest.
"""
