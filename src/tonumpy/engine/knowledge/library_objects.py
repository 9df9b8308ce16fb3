"""Attributes of library objects that are objects of the same library: `frame.loc`."""

from __future__ import annotations

_PARTS = {
    "h5py": ("attrs",),
    "netCDF4": ("variables", "groups"),
    "pandas": ("loc", "iloc", "at", "iat", "index"),
    "pyvista": ("point_data", "cell_data", "field_data"),
    "scipy": ("variables",),
    "xarray": ("loc",),
}
# Functions that return a table, whose columns are attributes too (`frame.label`); and attributes that are no columns.
_TABLES = ("pandas.DataFrame", "pandas.read_", "pandas.concat", "pandas.merge")
_OF_TABLES = frozenset(
    "T attrs axes columns dtype dtypes empty flags index name ndim plot shape size sparse style values".split()
)


def part_named(what: str, attribute: str) -> str | None:
    """The name of the object in an attribute, by the name of the function that made its owner; None if it is no object
    of the library."""
    root, dot, _ = what.partition(".")
    if root == "matplotlib" and dot:
        return what  # `axes.flat`, `fig.axes`
    if dot and attribute in _PARTS.get(root, ()):
        return f"{root}.{attribute}"
    is_column = what.startswith(_TABLES) and attribute not in _OF_TABLES
    return "pandas.Series" if is_column else None
