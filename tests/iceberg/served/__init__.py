"""Tests of tables as Iceberg's readers get them."""
