"""Do judges differ, and which of them can be relied upon? Choices between cars by 60 people.

    python examples/judges.py DIRECTORY [--folds 5] [--small]

DIRECTORY holds prefs1.csv (user, preferred car, other car, whether it is a control question), items1.csv and
users1.csv, whose last column counts the control questions that a user answered the same way again. Held out are a fifth
of each user's comparisons ("known judge") or all comparisons of a fifth of the users ("new judge"). Models: one utility
for all; one for all and one for each judge; the same with judges alike in what is known of them; and with circles. The
log evidence is that of all comparisons. The report on judges is set against the control questions, which no model saw.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.model_selection import GroupKFold, KFold

from preflearn import Comparisons, PreferenceGP
from preflearn.metrics import comparison_log_loss, expected_calibration_error, pairwise_accuracy
from preflearn.structure import judge_report

MODELS = {
    "one for all": {"kernel": "ard"},
    "and one for each": {"kernel": "ard", "judge_kernel": "identity"},
    "judges by features": {"kernel": "ard", "judge_kernel": "rbf"},
    "one for each, circles": {"kernel": "rbf", "cyclic_kernel": "rbf", "judge_kernel": "identity"},
}


def read(path):
    with path.open() as file:
        rows = [row for row in csv.reader(file) if row]
    return np.array([[float(cell) for cell in row] for row in rows[1:]])


def load(directory):
    """Return the comparisons without control questions, and how many of these each user answered consistently."""
    preferences, items, users = (read(directory / f"{name}1.csv") for name in ("prefs", "items", "users"))
    user, better, worse = preferences[preferences[:, 3] == 0, :3].astype(int).T
    turned = np.random.default_rng(0).random(len(user)) < 0.5  # the preferred car is listed first
    table = pd.DataFrame((users[:, 1:5] - users[:, 1:5].mean(axis=0)) / users[:, 1:5].std(axis=0))
    table.columns = ["education", "age", "gender", "region"]
    table.insert(0, "judge", users[:, 0].astype(int))
    data = Comparisons(
        (items[:, 1:] - items[:, 1:].mean(axis=0)) / items[:, 1:].std(axis=0),
        np.where(turned, worse, better) - 1,
        np.where(turned, better, worse) - 1,
        np.where(turned, -1, 1),
        judge=user,
        judges=table,
    )
    return data, dict(zip(users[:, 0].astype(int).tolist(), users[:, 5], strict=True))


def held_out(model, data, folds):
    """Return accuracy, log loss and calibration error on held-out comparisons."""
    found = []
    for train, test in folds:
        p = PreferenceGP(**model, n_restarts=0).fit(data[train]).predict_proba(data[test])[:, 1]
        y = data.outcome[test]
        found.append((pairwise_accuracy(y, p - 0.5), comparison_log_loss(y, p), expected_calibration_error(y, p)))
    return np.mean(found, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="ten users and two folds: only to see that all runs")
    options = parser.parse_args()
    data, controls = load(options.directory)
    if options.small:
        data, options.folds = data[data.judge <= 10], 2
    print(f"{len(data)} comparisons of {data.n_items} cars by {len(set(data.judge.tolist()))} people\n")
    print(
        "| model | log evidence | known judge: accuracy | log loss | calibration error | new judge: accuracy ", end=""
    )
    print("| log loss | calibration error |\n|---|---|---|---|---|---|---|---|", flush=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # repeated comparisons are part of these data
        for name, model in MODELS.items():
            evidence = PreferenceGP(**model, n_restarts=0).fit(data).log_evidence_
            known = held_out(model, data, KFold(options.folds, shuffle=True, random_state=0).split(data))
            new = held_out(model, data, GroupKFold(options.folds).split(data, groups=data.judge))
            cells = " | ".join(f"{figure:.3f}" for figure in (*known, *new))
            print(f"| {name} | {evidence:.1f} | {cells} |", flush=True)
            print(f"{name} done", file=sys.stderr, flush=True)
        report = judge_report(PreferenceGP("ard", judge_kernel="identity", n_restarts=0).fit(data))
    print(f"\nThe least reliable of {len(report)} judges:\n")
    print("\n".join(str(report).splitlines()[:9]))
    verdicts = Counter(report.verdict.tolist())
    print(f"\nverdicts: {', '.join(f'{count} {verdict}' for verdict, count in verdicts.most_common())}")
    consistent = [controls[judge] for judge in report.judge]
    for name in ("reliability", "consistency"):
        rank = spearmanr(getattr(report, name), consistent)
        print(f"{name} against control questions: rank correlation {rank.statistic:.2f} (p = {rank.pvalue:.1g})")


if __name__ == "__main__":
    main()
