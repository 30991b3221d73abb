"""Images: the rows of a follower or a publisher at one position, beside the events of a backup.

A process without rows begins with an image, and reads only the events after it.
"""
