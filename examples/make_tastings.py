"""Write tastings.csv and teas.csv, invented data of the kind that people have, with a known truth.

    python examples/make_tastings.py [FOLDER]

Twelve judges taste pairs of fourteen teas and say left, right or tie. They like caffeine up to a point, and some teas
for what no feature says; one judge has understood the question the other way round. One price and one kind are missing.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

TEAS = {  # name: kind, caffeine in mg, price of 100 g, and what is liked about it beside these
    "Assam": ("black", 65, 4.5, 0.2),
    "Bancha": ("green", 20, 5.0, -0.2),
    "Ceylon": ("black", 55, 4.0, 0.0),
    "Chamomile": ("herbal", 0, 3.5, 0.3),
    "Darjeeling": ("black", 50, 7.5, 0.6),
    "Earl Grey": ("black", 55, 5.5, -0.3),
    "Genmaicha": ("green", 15, 6.5, 0.1),
    "Gunpowder": ("green", 35, 4.5, 0.0),
    "Jasmine": ("", 30, 6.0, 0.2),
    "Lapsang": ("black", 40, 8.0, -0.9),
    "Oolong": ("oolong", 37, 9.0, 0.4),
    "Peppermint": ("herbal", 0, 3.0, 0.0),
    "Rooibos": ("herbal", 0, 4.0, -0.4),
    "Sencha": ("green", 32, None, 0.1),
}
JUDGES = ("Ada", "Ben", "Cleo", "Dirk", "Elif", "Finn", "Gita", "Hugo", "Ines", "Jens", "Kaya", "Luis")
CONTRARY = "Hugo"


def utility(caffeine: float, liked: float) -> float:
    return 2.5 * np.exp(-(((caffeine - 45) / 25) ** 2)) + liked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent)
    folder = parser.parse_args().folder
    rng = np.random.default_rng(14)
    names = list(TEAS)
    u = np.array([utility(caffeine, liked) for _, caffeine, _, liked in TEAS.values()])
    rows = []
    for judge in JUDGES:
        for _ in range(26):
            left, right = rng.choice(len(names), 2, replace=False)
            margin = (u[left] - u[right]) * (-1 if judge == CONTRARY else 1) + rng.logistic()
            winner = "tie" if abs(margin) < 0.25 else "left" if margin > 0 else "right"
            rows.append((judge, names[left], names[right], winner))
    with (folder / "tastings.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("judge", "left", "right", "winner"), *rows])
    with (folder / "teas.csv").open("w", newline="") as file:
        table = [(name, kind, caffeine, price or "") for name, (kind, caffeine, price, _) in TEAS.items()]
        csv.writer(file, lineterminator="\n").writerows([("tea", "kind", "caffeine", "price"), *table])


if __name__ == "__main__":
    main()
