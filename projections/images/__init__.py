"""Rows of stores as sections of images: read for a backup, and made rows again from one."""
