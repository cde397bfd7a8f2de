"""``preflearn inspect``: can these comparisons be ranked, which items are comparable, which judges to trust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from preflearn.cli.console import facts, hanging, plain, print_json, progress, prose
from preflearn.cli.options import Count, Flag, Machine, ReadOptions, Source, Whole
from preflearn.cli.rank import MODEL_COLUMN
from preflearn.cli.sources import about, comparisons_of, describe_data
from preflearn.exceptions import DataError, quiet
from preflearn.table_format import plural

if TYPE_CHECKING:
    from preflearn.data import Comparisons
    from preflearn.structure import Rankability

USAGE = "preflearn inspect DATA [OPTIONS]"
_ONE_GROUP = "Found no groups of items with a clear ranking within each group and little between groups."


def inspect(
    data: Source,
    /,
    reading: ReadOptions = ReadOptions(),  # noqa: B008 - frozen
    *,
    clusters: Whole | None = None,
    features: Count | None = None,
    json: Flag = False,
    top: Count = 30,
    machine: Machine = Machine(),  # noqa: B008 - frozen
) -> None:
    """Say whether comparisons can be ranked at all, and if not, why.

    The verdict with its odds, how much a ranking and how much circles explain,
    the strongest cycles, who beats everybody, groups of items that are comparable
    only among themselves (where preferences run in circles), and how far each
    judge can be trusted (where judges are named).

    For example:

        preflearn inspect matches.csv
        preflearn inspect matches.csv --items items.csv --clusters 3
        preflearn inspect matches.csv --items items.csv --features 5

    Parameters
    ----------
    data
        Table of comparisons, or a model file that was learned from one; - for standard input.
    clusters
        Number of groups of comparable items to look for.
    features
        Number of features to name on which outcomes depend most (BAHSIC).
    json
        Print JSON instead of text; it has all rows of all tables.
    top
        How many judges, groups and items of a group to print.
    """
    machine.apply()
    from preflearn.analysis.advice import camps
    from preflearn.analysis.analyse import analyse
    from preflearn.analysis.model_names import has_judges
    from preflearn.analysis.prepared import prepare
    from preflearn.structure import judge_report

    with progress("Reading") as tell:
        read, given, model = comparisons_of(data, reading)
        X = prepare(given, again=model is not None).data
        if clusters is not None and not 2 <= clusters <= X.n_items:
            most = f"there are {X.n_items} items, so it must be from 2 to {X.n_items}"
            raise DataError(f"--clusters is {clusters}; {most if X.n_items > 2 else 'it needs three items or more'}.")
        if features is not None and X.items is None:
            raise DataError(f"{read.source}: --features needs features of the items. Give them with --items.")
        with about(read.source):
            analysis = analyse(X, circles=True, again=True, random_state=machine.seed, progress=tell)
            verdict = analysis.rankability
            assert verdict is not None
        found = None
        if clusters is not None or verdict.found or verdict.n_parts > 1:
            tell("Looking for comparable groups", 0.7)
            with quiet():
                found = _groups(X, verdict, clusters, machine.seed)
        judges, apart = None, []
        if has_judges(X):
            tell("Asking about the judges", 0.8)
            with quiet():
                judges = analysis.judges or judge_report(X)  # which many judges leave out there
            apart = camps(analysis.ladder)
        telling = None
        if features is not None:
            tell("Asking which features tell", 0.9)
            telling = _telling(X, features, machine.seed)
    if json:
        answer = {
            "data": read.source,
            "read": list(read.notes),
            "verdict": verdict.verdict,
            "log_odds_of_circles": verdict.log_odds,
            "p_value": verdict.p_value,
            "log_evidence": verdict.log_evidence,
            "ladder": [
                {"model": one.name, "log_evidence": one.log_evidence, "penalised_evidence": one.penalised_evidence}
                for one in analysis.ladder.ordered
            ],
            "not_tried": [str(one) for one in (*analysis.ladder.no_sign, *analysis.ladder.left_out)],
            "ranking_share": verdict.ranking_share,
            "cyclic_share": verdict.cyclic_share,
            "ordered": verdict.ordered,
            "along": list(verdict.along),
            "hodge": {key: float(getattr(verdict.hodge, key)) for key in ("gradient", "curl", "harmonic")},
            "cyclic_triads": list(verdict.triads),
            "clustering": verdict.clustering,
            "cycles": [{"items": [str(n) for n in names], "weakest": p} for p, names in verdict.cycles],
            "condorcet": [{"item": str(name), "probability": p} for name, p in verdict.condorcet],
            "smith": [{"item": str(name), "probability": p} for name, p in verdict.smith],
            "clusters": None if found is None else [[str(name) for name in members] for members, _ in found],
            "clusters_explained": None if found is None else [share for _, share in found],
            "features": telling,
            "judges": None if judges is None else _records(judges.to_dict()),
            "camps": [advice.text for advice in apart],
        }
        print_json(answer)
        return
    facts([*(("Read", line) for line in read.notes), ("Data", describe_data(X))])
    plain(f"\n{X.summary()}\n\n{verdict}\n")
    hanging(analysis.ladder.table(), MODEL_COLUMN)
    if found is not None:
        plain("")
        around = clusters is not None or verdict.found
        which = "groups of items" if around else "groups of items that never met"
        prose(f"{len(found)} {which}, each from best to worst:" if len(found) > 1 else _ONE_GROUP)
        for number, (members, share) in enumerate(found[:top] if len(found) > 1 else [], start=1):
            share_of_it = (
                f" (a ranking explains {share:.0%} of their preferences)" if len(members) > 1 and around else ""
            )
            more = f" and {plural(len(members) - top, 'more item')}" if len(members) > top else ""
            facts([(f"{number}", ", ".join(str(name) for name in members[:top]) + more + share_of_it)])
        if len(found) > top:
            prose(f"... and {plural(len(found) - top, 'more group')}, none larger. --top {len(found)} prints all.")
    if telling is not None:
        plain("")
        prose(
            f"{plural(len(telling), 'feature')} on which outcomes depend most, found by leaving out one after the "
            f"other (BAHSIC): {', '.join(telling)}."
        )
    if judges is not None:
        plain(f"\n{judges.text(top)}")
        if len(judges) > top:
            prose(f"--top {len(judges)} prints all judges.")
        for advice in apart:
            plain("")
            prose(advice.text)


def _groups(X: Comparisons, verdict: Rankability, wanted: int | None, seed: int) -> list[tuple[list[Any], float]]:
    """Return the names of each group (without circles: those that met), and how far a ranking explains it."""
    import numpy as np

    names, score = np.arange(X.n_items) if X.names is None else X.names, verdict.winners.score
    if wanted is None and not verdict.found:
        labels = X.parts()
        used = X.used_items()
        # scores that are equal but for rounding keep the order of the items
        size = max(float(np.abs(score[used]).max(initial=0.0)), 1e-300)
        used = used[np.argsort(-np.round(score[used] / size, 9), kind="stable")]
        apart = [[names[i] for i in used if labels[i] == label] for label in dict.fromkeys(labels[used].tolist())]
        return [(members, 1.0) for members in sorted(apart, key=len, reverse=True)]
    fitted = verdict.clusters("auto" if wanted is None else wanted, random_state=seed)
    groups = []
    for label in range(fitted.n_clusters_):
        members = np.flatnonzero(fitted.labels_ == label)
        ranked = [names[i] for i in members[np.argsort(fitted.ranks_[members])]]
        groups.append((float(score[members].max()), ranked, float(fitted.explained_[label])))
    ordered = sorted(groups, key=lambda group: (-len(group[1]), -group[0]))
    return [(ranked, explained) for _, ranked, explained in ordered]


def _telling(X: Comparisons, count: int, seed: int) -> list[str]:
    """Return the names of the features on which outcomes depend most, or their numbers from 1."""
    from preflearn.selection import BAHSIC

    chosen = BAHSIC(count, random_state=seed).fit(X)
    if X.feature_names is None:
        return [str(place + 1) for place in chosen.support_.nonzero()[0].tolist()]
    return [str(name) for name in chosen.get_feature_names_out()]


def _records(columns: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
