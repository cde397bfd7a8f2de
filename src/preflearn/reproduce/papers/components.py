"""Section 4.2 of the KPCRank paper as printed: main directions of differences, instead of those of items."""

from __future__ import annotations

from sklearn.gaussian_process.kernels import RBF, DotProduct

from preflearn.data import Ratings
from preflearn.datasets import make_noisy_parse_ranking
from preflearn.kernels import resolve_kernel
from preflearn.metrics import disagreement_error
from preflearn.models import KPCRankCV
from preflearn.reproduce.experiment import Case, Column, Experiment, Paired, Record, Run
from preflearn.reproduce.papers.parses import PUBLIC, read_parses


def simulated(case: Case) -> list[Record]:
    """Rank simulated parses by KPCRank on components of items and of differences, with more and more noise."""
    data = make_noisy_parse_ranking(*case.settings["rows"], random_state=case.random_state)
    return _with_noise(case, "simulated", data.train, data.test)


def public(case: Case) -> list[Record]:
    """Do the same with the public parses, and with a simulation of that size without them."""
    if case.folder is None:
        data = make_noisy_parse_ranking(100, 100, random_state=case.random_state)
        return _with_noise(case, "public", data.train, data.test)
    return _with_noise(case, "public", *read_parses(case.folder))


def _with_noise(case: Case, name: str, train: Ratings, test: Ratings) -> list[Record]:
    records = []
    for i, noise in enumerate(case.settings["noise"]):
        if noise == 0 and name == "public" and case.repeat:
            continue  # nothing would differ from the first trial
        score = train.score + noise * case.rng(i).standard_normal(len(train))
        noisy = Ratings(train.items, score, train.group)
        records.append({"row": f"{name}, noise {noise:g}", **_errors(noisy, test, case.settings["components"])})
    return records


def _errors(train: Ratings, test: Ratings, most: int) -> Record:
    """Return the errors of both models, kernel and number of components chosen by folds of sentences."""
    width = resolve_kernel("rbf", train.items).length_scale
    kernels = [DotProduct(0.0), *(RBF(factor * width) for factor in (1.0, 0.5, 2.0))]
    found: Record = {}
    for of in ("items", "differences"):
        model = KPCRankCV(most, kernels, components_of=of).fit(train)
        found[of] = disagreement_error(test.score, model.predict(test.items), qid=test.group)
        found[f"{of}, number"] = model.n_components_
    found["less"] = found["items"] - found["differences"]
    return found


EXPERIMENTS = (
    Experiment(
        name="kpcrank-components",
        title="KPCRank on main directions of items and of differences: disagreement error",
        source="kpcrank 2008, sections 4.1 and 4.2",
        runs=[
            Run(
                name="kpcrank-components",
                trial=simulated,
                repeats=20,
                seconds=7,
                settings={"rows": [500, 2698], "noise": [0.0, 0.5, 1.0], "components": 100},
                quick={"rows": [60, 200], "components": 10},
            ),
            Run(
                name="kpcrank-components-public",
                trial=public,
                repeats=20,
                seconds=1,
                settings={"noise": [0.0, 0.5, 1.0], "components": 100},
                quick={"noise": [0.5], "components": 10},
                data=PUBLIC,
            ),
        ],
        columns=[
            Column("items", "of items (4.1)"),
            Column("differences", "of differences (4.2)"),
            Column("less", "error that 4.2 saves"),
            Column("items, number", "components (4.1)", digits=1),
            Column("differences, number", "components (4.2)", digits=1),
        ],
        tests=[Paired("items", "differences")],
        notes=[
            "500 and 2698 simulated parses (`make_noisy_parse_ranking`), and 100 and 100 real ones, the same in every "
            "trial but for the noise. Noise is on the training scores only. Kernel (linear, or Gaussian of one of "
            "three widths) and number of components by 5-fold cross-validation over sentences.",
            "Section 4.2 presents zeroing eigenvalues of Z'LZ as a way to all numbers of components. It is another "
            "model, and without noise the better one: parses of a sentence are to be ranked, and its components are "
            "directions in which these differ, not those in which sentences do.",
        ],
    ),
)
