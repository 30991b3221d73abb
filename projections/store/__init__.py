"""The row store: its port, and its adapters for RocksDB and for memory."""
