"""The forms of answers of a Unity Catalog, as engines expect them, and of its one request."""

from typing import Final, NamedTuple, NotRequired, TypedDict


class Unrecorded(TypedDict):
    """Fields that some clients need, whatever is in them."""

    comment: str | None
    owner: None
    created_at: None
    created_by: None
    updated_at: None
    updated_by: None


UNRECORDED: Final[Unrecorded] = {
    "comment": None,
    "owner": None,
    "created_at": None,
    "created_by": None,
    "updated_at": None,
    "updated_by": None,
}


class UnityCatalog(Unrecorded):
    """A catalog with tables."""

    name: str
    properties: dict[str, str]


class UnitySchema(Unrecorded):
    """A schema with published tables."""

    name: str
    catalog_name: str
    full_name: str
    properties: dict[str, str]


class UnityColumn(TypedDict):
    """A column of a table; a partition column has its place among the partition columns."""

    name: str
    type_text: str
    type_name: str
    type_json: str
    type_precision: int
    type_scale: int
    position: int
    nullable: bool
    partition_index: NotRequired[int]


class UnityTableForm(Unrecorded):
    """A published table: its columns, its folder and its properties."""

    name: str
    catalog_name: str
    schema_name: str
    full_name: str
    table_type: str
    data_source_format: str
    storage_location: str
    table_id: str
    columns: list[UnityColumn]
    properties: dict[str, str]


class UnityCatalogs(TypedDict):
    """A page of the catalogs with tables."""

    catalogs: list[UnityCatalog]
    next_page_token: NotRequired[str]


class UnitySchemas(TypedDict):
    """A page of the schemas of a catalog with published tables."""

    schemas: list[UnitySchema]
    next_page_token: NotRequired[str]


class UnityTables(TypedDict):
    """A page of the published tables of a schema."""

    tables: list[UnityTableForm]
    next_page_token: NotRequired[str]


class CredentialsWanted(NamedTuple):
    """A request for credentials of one table."""

    table_id: str
    operation: str = "READ"


class UnityCredentials(TypedDict):
    """The folder of a table, and no credentials: an engine reads with its own rights."""

    url: str
    expiration_time: int
