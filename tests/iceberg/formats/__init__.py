"""Tests of Iceberg's forms, judged by readers and writers of other projects."""
