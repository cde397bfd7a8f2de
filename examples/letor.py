"""How well does RankRLS rank documents of unseen queries? The RankRLS paper's five folds, on any LETOR collection.

    python examples/letor.py DIRECTORY [--relevant 1] [--discount log2|letor]

DIRECTORY holds Fold1..Fold5 or the parts S1..S5 (OHSUMED, TREC2003, TREC2004, ...). Features are scaled to [0, 1]
within each query; three parts train, one chooses alpha and whether ties count (by MAP), one tests; figures are means
over the folds. With --paper the OHSUMED tables of the paper stand beside ours. There is no log loss and no calibration
error here: least squares predicts scores, of which only the order counts, and not probabilities.
"""

from __future__ import annotations

import argparse

import numpy as np

from preflearn import RLS, RankRLS
from preflearn.datasets import load_letor, scale_per_group
from preflearn.metrics import mean_average_precision, ndcg, precision_at_k

ALPHAS = np.geomspace(1e-3, 1e8, 23).tolist()
# rankrls_2007, tables 1-3 (OHSUMED): MAP, NDCG@1..10, P@1..10
PAPER = {
    "RankRLS": (
        0.447,
        (0.549, 0.492, 0.477, 0.465, 0.453, 0.450, 0.451, 0.447, 0.447, 0.443),
        (0.644, 0.614, 0.586, 0.570, 0.557, 0.546, 0.534, 0.524, 0.516, 0.505),
    ),
    "RLS": (
        0.450,
        (0.527, 0.499, 0.491, 0.474, 0.461, 0.454, 0.459, 0.460, 0.458, 0.452),
        (0.635, 0.615, 0.602, 0.580, 0.560, 0.541, 0.545, 0.539, 0.525, 0.510),
    ),
}


def candidates(name):
    if name == "RLS":
        return [RLS(alpha) for alpha in ALPHAS]
    return [RankRLS(alpha, ties=ties) for ties in ("include", "exclude") for alpha in ALPHAS]


def judge(part, scores, relevant, discount):
    """MAP, NDCG@1..10 and P@1..10 of one part."""
    common = {"qid": part.group, "ties": "order"}  # LETOR's scripts leave equal scores in the order of the file
    ranks = range(1, 11)
    return np.array(
        [
            mean_average_precision(part.score, scores, relevant=relevant, **common),
            *(ndcg(part.score, scores, k=k, discount=discount, **common) for k in ranks),
            *(precision_at_k(part.score, scores, k=k, relevant=relevant, **common) for k in ranks),
        ]
    )


def run(directory, relevant=1, discount="log2"):
    """Return for each method the figures per fold, (5, 21), and the chosen models."""
    folds = [
        tuple(scale_per_group(part) for part in (fold.train, fold.validation, fold.test))
        for fold in load_letor(directory)
    ]
    figures, chosen = {}, {}
    for name in ("RankRLS", "RLS"):
        rows, models = [], []
        for train, validation, test in folds:
            fitted = [model.fit(train) for model in candidates(name)]
            score = [
                mean_average_precision(
                    validation.score, m.predict(validation), qid=validation.group, relevant=relevant, ties="order"
                )
                for m in fitted
            ]
            best = fitted[int(np.argmax(score))]
            rows.append(judge(test, best.predict(test), relevant, discount))
            models.append(best)
        figures[name], chosen[name] = np.array(rows), models
    return figures, chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--relevant", type=float, default=1.0, help="smallest relevant label (default 1)")
    parser.add_argument("--discount", choices=["log2", "letor"], default="log2")
    parser.add_argument("--paper", action="store_true", help="print the paper's OHSUMED figures beside ours")
    options = parser.parse_args()
    figures, chosen = run(options.directory, options.relevant, options.discount)
    labels = ["MAP", *(f"NDCG@{k}" for k in range(1, 11)), *(f"P@{k}" for k in range(1, 11))]
    for name in figures:
        print(f"{name}: chosen on the validation parts:", "; ".join(str(m) for m in chosen[name]))
    heads = [f"{name}{suffix}" for name in figures for suffix in ([""] + [" paper"] * options.paper)]
    print(f"{'':8}" + "".join(f"{h:>15}" for h in heads))
    for i, label in enumerate(labels):
        cells = []
        for name, rows in figures.items():
            cells.append(rows[:, i].mean())
            if options.paper:
                map_, gains, precisions = PAPER[name]
                cells.append((map_, *gains, *precisions)[i])
        print(f"{label:8}" + "".join(f"{c:15.3f}" for c in cells))
    print("scores, not probabilities: no log loss or calibration error (examples/sinc.py has models with both)")
    for name, rows in figures.items():
        mean = rows.mean(axis=0)
        assert 0 < mean[0] < 1, "MAP is a share"
        if options.paper and options.relevant == 1:
            gap = np.abs(mean - np.array((PAPER[name][0], *PAPER[name][1], *PAPER[name][2])))
            print(f"{name}: largest distance from the paper {gap.max():.3f} ({labels[int(gap.argmax())]})")
    if options.paper and options.relevant == 1:
        assert figures["RankRLS"][:, 0].mean() >= 0.447, "MAP of the RankRLS paper"


if __name__ == "__main__":
    main()
