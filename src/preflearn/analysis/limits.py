"""Every threshold that decides what an analysis tries, and what it reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Thresholds of an analysis.

    Attributes
    ----------
    items_on_features : int
        Compared items up to which utilities of features are learned exactly: each step costs the cube of their number.
    landmarks : int
        Functions that stand in for the kernel of more items: how alike items are to so many landmarks.
    relevances : int
        Features up to which each gets a length scale of its own.
    worth_a_fit : float
        Nats, less the price of its parameters, that a term is expected to be worth before a model with it is fitted.
    rivals : float
        Share of what tastes of judges promise from which reliabilities are tried, too, and the other way round.
    side_from_items : float
        Share of who stands first that one number for each item explains, up to which an advantage of a side is learned:
        where favourites always stand first it cannot be told from theirs.
    judged_items : int
        Items that each judge compared, summed over judges, up to which judges have tastes.
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
    pairs_of_scores : int
        Pairs that rows with scores are turned into.
    categories : int
        Rankings of one call of `rank_by`.
    paired_items : int
        Items all of whose pairs are looked at for what to compare next, where preferences run in circles.
    lopsided : float
        Share of outcomes on one side below which sides were sorted by outcome, and say nothing of an advantage.
    sides_balanced : float
        Difference of how often items are first and second, as a share of all, up to which sides are in random order, or
        those of a schedule.
    clearly_ahead : float
        Nats from which one model is clearly ahead of another.
    missed_term : float
        Nats that a term is expected to be worth from which a model that was asked for misses it.
    even_odds : float
        Odds below which odds are called even.
    best : float
        Probability to be the best from which an item is called the best.
    told_apart : float
        Probability of the order of two items from which they are told apart.
    few_comparisons : int
        Comparisons of an item below which its place is mostly the prior's.
    many_comparisons : int
        Comparisons from which it means something that none contradicts another.
    top_places : int
        Places that warnings look at in a long ranking.
    items_grouped : int
        Items up to which groups that can be ranked within are looked for in passing.
    tastes_apart : float
        Variance of judges' own preferences, in units of what all share, above which they have little in common.
    judges_in_camps, camps_opposed : int, float
        Judges up to which camps are looked for, and the mean likeness (cosine) of tastes within camps, less that
        across, from which they are opposed.
    reverse_doubt, judge_sided : float
        Probability of the reverse of a ranking, as contrary judges would have it, from which that is said, and by how
        many deviations of chance a judge answers with one of the two rankings who is on its side.
    matched_items, matched_share, matched_deviations : int, float, float
        Items up to which it is examined whether pairs were chosen by strength; squared differences of items that met,
        by those of all, below which they were; and by how many deviations of simulations a prior then holds back too
        much.
    label_search, label_moments, label_learning : float
        Operations of one factorisation, of a model of labels, up to which hyperparameters are searched for, utilities
        are learned by expectation propagation, and utilities are learned at all: beyond, the first and the last are
        from rows that are drawn at random, and Laplace's method takes the place of the second.
    off_calibration : float
        p-value below which probabilities of held-out comparisons are called off.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import preflearn
    >>> from preflearn.analysis import Limits
    >>> few = replace(Limits(), pairs_examined=100)
    >>> preflearn.rank([("ann", "bob"), ("bob", "cy")], limits=few).ranking.names
    array(['ann', 'bob', 'cy'], dtype=object)
    """

    items_on_features: int = 1_500
    landmarks: int = 256
    relevances: int = 30
    worth_a_fit: float = -1.0
    rivals: float = 0.5
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
    averaged_latents: int = 300
    few_statements: int = 1_000
    few_per_item: int = 10
    items_by_moments: int = 1_000
    items_by_moments_on_features: int = 300
    items_by_moments_in_circles: int = 60
    heavy: float = 1e6
    pairs_of_scores: int = 20_000
    categories: int = 50
    paired_items: int = 300
    lopsided: float = 0.02
    sides_balanced: float = 0.25
    clearly_ahead: float = 5.0
    missed_term: float = 3.0
    even_odds: float = 1.05
    best: float = 0.9
    told_apart: float = 0.75
    few_comparisons: int = 3
    many_comparisons: int = 10
    top_places: int = 10
    items_grouped: int = 60
    tastes_apart: float = 1.5
    judges_in_camps: int = 200
    camps_opposed: float = 0.3
    reverse_doubt: float = 0.02
    judge_sided: float = 2.0
    matched_items: int = 500
    matched_share: float = 0.4
    matched_deviations: float = 3.0
    label_search: float = 4e8
    label_moments: float = 2e9
    label_learning: float = 3e10
    off_calibration: float = 0.01


LIMITS = Limits()
