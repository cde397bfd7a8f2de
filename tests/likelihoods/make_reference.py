"""Write reference.json: log p and its derivatives by central differences in 420 digits.

Needs mpmath, which is not a dependency: ``python tests/likelihoods/make_reference.py``.
The tests recompute some rows wherever mpmath is installed.
"""

from __future__ import annotations

import json
from pathlib import Path

LATENTS = (-1000.0, -40.0, -20.0, -6.0, -2.0, -0.3125, 0.015625, 1.5, 5.0, 12.0, 25.0, 40.0)
LINKS = (("Probit", 1.0), ("Probit", 1.5), ("Logit", 1.0), ("Logit", 3.0), ("Davidson", 1.0), ("Davidson", 3.0))
TIES = (None, 0.0078125, 0.25, 4.0)


def table():
    for name, scale in LINKS:
        for tie in TIES if name != "Davidson" else TIES[1:]:
            for outcome in (1, -1) if tie is None else (1, 0, -1):
                for z in LATENTS:
                    yield name, scale, tie, outcome, z


def reference(name, scale, tie, outcome, z):
    """Return log p, its three derivatives in z, and the derivatives of the first three in log tie, as floats."""
    import mpmath as mp

    with mp.workdps(420):
        step = mp.mpf(10) ** -20
        sign = -1 if z < 0 else 1

        def cdf(u):
            return mp.erfc(-u / mp.sqrt(2)) / 2 if name == "Probit" else 1 / (1 + mp.exp(-u))

        def log_p(x, d):
            if name == "Davidson":
                weights = {y: mp.exp(y * x / scale / 2) if y else d for y in (1, 0, -1)}
                return mp.log(weights[outcome] / sum(weights.values()))
            if outcome:
                return mp.log(cdf((outcome * x - d) / scale))
            # From the side where both terms are small.
            return mp.log(cdf((d - sign * x) / scale) - cdf((-d - sign * x) / scale))

        def derivatives(d):
            a, b, c, e, f = (log_p(mp.mpf(z) + k * step, d) for k in (-2, -1, 0, 1, 2))
            third = (f - 2 * e + 2 * b - a) / (2 * step**3)
            return c, (e - b) / (2 * step) - third * step**2 / 6, (e - 2 * c + b) / step**2, third

        d = mp.mpf(tie or 0)
        values = list(derivatives(d))
        if tie is not None:
            more, less = derivatives(d * mp.exp(step)), derivatives(d * mp.exp(-step))
            values += [(m - n) / (2 * step) for m, n in zip(more[:3], less[:3], strict=True)]
        return [float(x) for x in values]


if __name__ == "__main__":
    rows = [[*case, reference(*case)] for case in table()]
    text = "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"
    (Path(__file__).parent / "reference.json").write_text(text)
