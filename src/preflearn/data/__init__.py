"""Data in: comparisons, ratings, converters and readers."""

from preflearn.data._items import ItemTable
from preflearn.data.bags import Bags
from preflearn.data.comparisons import Comparisons
from preflearn.data.convert import from_frame, from_scores, from_winners
from preflearn.data.encoding import ItemEncoder
from preflearn.data.label_graphs import from_class_labels, from_label_hierarchy, from_ordinal_labels
from preflearn.data.label_orders import from_label_rankings, from_label_ranks
from preflearn.data.labels import LabelPreferences
from preflearn.data.orders import from_choices, from_rankings
from preflearn.data.pairs import PairTable
from preflearn.data.ratings import Ratings
from preflearn.data.read_tables import read_comparisons, read_items
from preflearn.data.reading import Reading, read_preferences
from preflearn.data.svmlight import read_svmlight

__all__ = [
    "Bags",
    "Comparisons",
    "ItemEncoder",
    "ItemTable",
    "LabelPreferences",
    "PairTable",
    "Ratings",
    "Reading",
    "from_choices",
    "from_class_labels",
    "from_frame",
    "from_label_hierarchy",
    "from_label_rankings",
    "from_label_ranks",
    "from_ordinal_labels",
    "from_rankings",
    "from_scores",
    "from_winners",
    "read_comparisons",
    "read_items",
    "read_preferences",
    "read_svmlight",
]
