"""How far an analysis goes: every threshold that decides what is tried, in one place."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LIMITS", "Limits"]


@dataclass(frozen=True)
class Limits:
    """Thresholds of an analysis.

    Attributes
    ----------
    items_on_features : int
        Compared items up to which utilities of features are learned: each step costs the cube of their number.
    relevances : int
        Features up to which each gets a length scale of its own.
    worth_a_fit : float
        Nats, less the price of its parameters, that a term is expected to be worth before a model with it is fitted.
    side_from_items : float
        Share of who stands first that one number for each item explains, up to which an advantage of a side is learned:
        where favourites always stand first it cannot be told from theirs.
    judged_items : int
        Items that each judge was asked about, summed over judges, up to which judges have tastes.
    clustered_items : int
        The same of clusters.
    pairs_judged : int
        Different pairs up to which judges have tastes beside circles.
    pairs_examined : int
        Different pairs up to which circles are looked for unasked.
    pairs_learned, items_learned : int
        Different pairs of items with features, and items without, up to which circles are learned after a hint.
    pairs_by_moments, heavy_of_all : int, float
        Different pairs up to which all models are learned by expectation propagation, and the weight of a row up to
        which they are, where neither judges nor clusters are named.
    averaged_items, averaged_parameters, averaged_latents : int
        Items, hyperparameters and latents of judges or pairs up to which the chosen model averages over the
        hyperparameters.
    few_statements, few_per_item : int
        Different statements (a pair of items and who won), in all or for each item, that are few: the chosen model is
        then learned by expectation propagation, as Laplace's method would make intervals too narrow.
    items_by_moments, items_by_moments_on_features, items_by_moments_in_circles : int
        Items up to which it is.
    heavy : float
        Weight of one statement up to which it is.
    """

    items_on_features: int = 1_500
    relevances: int = 30
    worth_a_fit: float = -1.0
    side_from_items: float = 0.5
    judged_items: int = 20_000
    clustered_items: int = 20_000
    pairs_judged: int = 600
    pairs_examined: int = 20_000
    pairs_learned: int = 2_500
    items_learned: int = 1_000
    pairs_by_moments: int = 400
    heavy_of_all: float = 1e4
    averaged_items: int = 150
    averaged_parameters: int = 5
    averaged_latents: int = 1_000
    few_statements: int = 1_000
    few_per_item: int = 10
    items_by_moments: int = 1_000
    items_by_moments_on_features: int = 300
    items_by_moments_in_circles: int = 60
    heavy: float = 1e6


LIMITS = Limits()
