"""Manifests: which files a snapshot has; and manifest lists: which manifests.

An entry of a manifest is a file. Its maps, and the values of its partition, are by the ids of
fields.
"""

from ledger.iceberg.manifests.reading import inherited as inherited
from ledger.iceberg.manifests.reading import read_manifest as read_manifest
from ledger.iceberg.manifests.reading import read_manifest_list as read_manifest_list
from ledger.iceberg.manifests.rows import ADDED as ADDED
from ledger.iceberg.manifests.rows import DATA as DATA
from ledger.iceberg.manifests.rows import DELETED as DELETED
from ledger.iceberg.manifests.rows import EQUALITY_DELETES as EQUALITY_DELETES
from ledger.iceberg.manifests.rows import EXISTING as EXISTING
from ledger.iceberg.manifests.rows import POSITION_DELETES as POSITION_DELETES
from ledger.iceberg.manifests.rows import Content as Content
from ledger.iceberg.manifests.rows import FieldSummary as FieldSummary
from ledger.iceberg.manifests.rows import ManifestEntry as ManifestEntry
from ledger.iceberg.manifests.rows import ManifestFile as ManifestFile
from ledger.iceberg.manifests.rows import ReadManifest as ReadManifest
from ledger.iceberg.manifests.writing import manifest_bytes as manifest_bytes
from ledger.iceberg.manifests.writing import manifest_file as manifest_file
from ledger.iceberg.manifests.writing import manifest_list_bytes as manifest_list_bytes
