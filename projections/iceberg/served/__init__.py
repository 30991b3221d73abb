"""Tables as Iceberg reads them: snapshots, manifests and metadata, folded from their versions."""
