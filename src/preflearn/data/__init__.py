"""The data: comparisons, ratings and label preferences, checked once, and converters to them."""

from preflearn.data.bags import Bags
from preflearn.data.chunks import Chunk, Chunks
from preflearn.data.comparisons import Comparisons
from preflearn.data.converters import from_frame, from_scores, from_winners
from preflearn.data.label_graphs import (
    from_class_labels,
    from_label_hierarchy,
    from_label_rankings,
    from_label_ranks,
    from_ordinal_labels,
)
from preflearn.data.label_preferences import LabelPreferences
from preflearn.data.orders import from_choices, from_rankings
from preflearn.data.pair_table import PairTable
from preflearn.data.ratings import Ratings
from preflearn.data.tables import ItemTable

__all__ = [
    "Bags",
    "Chunk",
    "Chunks",
    "Comparisons",
    "ItemTable",
    "LabelPreferences",
    "PairTable",
    "Ratings",
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
]
