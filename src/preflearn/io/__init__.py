"""Files and frames become data: tables are recognised, read, and described in sentences."""

from preflearn.io.item_features import ItemEncoder, read_items
from preflearn.io.label_tables import LabelReading, read_label_preferences
from preflearn.io.reading import Reading, read_comparisons, read_preferences
from preflearn.io.svmlight import read_svmlight

__all__ = [
    "ItemEncoder",
    "LabelReading",
    "Reading",
    "read_comparisons",
    "read_items",
    "read_label_preferences",
    "read_preferences",
    "read_svmlight",
]
