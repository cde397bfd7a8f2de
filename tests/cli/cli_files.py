"""Small files for the tests of the command line, with a known truth."""

import numpy as np

from preflearn import BradleyTerry, PreferenceGP, RankRLS
from preflearn.files import save
from preflearn.io import read_preferences

N_FEATURES = 4
NAMES = [f"C{i:02d}" for i in range(12)]
UTILITY = np.linspace(-1.0, 1.0, 12)


def svmlight(seed, n_groups, n_features=N_FEATURES, grades=True):
    """Return lines whose scores follow the first feature."""
    rng = np.random.default_rng(seed)
    lines = []
    for group in range(n_groups):
        for _ in range(6):
            x = rng.standard_normal(n_features).round(3)
            score = int(np.clip(np.round(x[0] + 1.5), 0, 3)) if grades else round(float(x[0]), 3)
            features = " ".join(f"{i + 1}:{value:g}" for i, value in enumerate(x))
            lines.append(f"{score} qid:{group + 1} {features}")
    return lines


def matches(seed, n_rows):
    """Return winner,loser rows of distinct pairs in which the later name always wins."""
    rng = np.random.default_rng(seed)
    chain = [(i + 1, i) for i in range(len(NAMES) - 1)]  # everything is connected
    others = [(j, i) for j in range(len(NAMES)) for i in range(j - 1)]
    drawn = chain + [others[k] for k in rng.permutation(len(others))[: n_rows - len(chain)]]
    return ["winner,loser", *(f"{NAMES[a]},{NAMES[b]}" for a, b in drawn)]


def write_all(folder):
    """Write the files that the tests use and return the folder."""
    files = {
        "train.txt": svmlight(0, 12),
        "test.txt": svmlight(1, 5),
        "real.txt": svmlight(2, 5, grades=False),
        "wide.txt": svmlight(3, 5, n_features=9),
        "narrow.txt": ["1 qid:1 1:0.5", "0 qid:1 1:0.1"],
        "matches.csv": matches(0, 40),
        "later.csv": matches(1, 25),
        "pairs.csv": ["first,second", "C01,C02", "C09,C03"],
        "items.csv": ["item,size,colour", *(f"{n},{u:.4f},{u * u:.4f}" for n, u in zip(NAMES, UTILITY, strict=True))],
    }
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


def save_rows_model(path, n_features=N_FEATURES):
    """Save a model that scores a row by its first feature."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((30, n_features))
    save(RankRLS(alpha=1e-3).fit(X, X[:, 0]), path)


def save_probable_models(folder):
    """Save a model of names, bt.preflearn, and one of features, gp.preflearn, of the matches."""
    data = read_preferences(folder / "matches.csv").data
    save(BradleyTerry(prior=1.0).fit(data), folder / "bt.preflearn")
    reading = read_preferences(folder / "matches.csv", folder / "items.csv")
    model = PreferenceGP("rbf", "logit", hyperparameters="fixed").fit(reading.data)
    save(model, folder / "gp.preflearn", notes={"trained_on": "matches.csv", "encoder": reading.encoder.to_dict()})
