"""Published logs on disks and in S3: each file is written once, whole or not at all."""
