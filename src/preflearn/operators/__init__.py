"""How latent utilities are seen by least squares; see `preflearn.operators._contract`."""

from preflearn.operators._contract import Features, FloatArray, IntArray, Operator, RowIndex, project
from preflearn.operators.edges import Edges, Root
from preflearn.operators.groups import Groups, Rows
from preflearn.operators.stream import scatter

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
