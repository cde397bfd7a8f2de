"""Draw the ranking of the tastings, as the README shows it.

    python examples/ranking_picture.py [--out docs/ranking.png]

Needs matplotlib (pip install ".[plot]").
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl

import preflearn

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "ranking.png")
    out = parser.parse_args().out
    mpl.use("agg")
    mpl.rcParams.update({"font.size": 11, "axes.spines.left": False})
    axes = preflearn.rank(HERE / "tastings.csv", HERE / "teas.csv").plot()
    axes.figure.set_size_inches(6.4, 3.9)
    axes.figure.savefig(out, dpi=125)


if __name__ == "__main__":
    main()
