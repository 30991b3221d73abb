"""The wire form: framed Avro of events, commands and lists of files."""
