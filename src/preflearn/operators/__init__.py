"""How latent utilities are seen by least squares; see `preflearn.operators.laplacian_roots`."""

from preflearn.operators.laplacian_roots import (
    Edges,
    Features,
    FloatArray,
    Groups,
    IntArray,
    Operator,
    Root,
    RowIndex,
    Rows,
    project,
    scatter,
)

__all__ = [
    "Edges",
    "Features",
    "FloatArray",
    "Groups",
    "IntArray",
    "Operator",
    "Root",
    "RowIndex",
    "Rows",
    "project",
    "scatter",
]
