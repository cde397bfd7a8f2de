"""Which ranker stands label noise? KPCRank, KPCR, RLS and RankRLS on simulated and on real parses.

    python -m benchmarks.noise                   the paper's table: 500 + 2698 rows, noise 0 / 0.5 / 1.0
    python -m benchmarks.noise --sweep           where KPCRank wins: spectral decay, signal, noise (and --shared)
    python -m benchmarks.noise --real DIRECTORY  the small real parse set (rank_train.svmlight, rank_test.svmlight)

Every choice (kernel, alpha, number of components) is made by 5-fold cross-validation over sentences on the noisy
training scores, by disagreement error. Test scores are clean. Errors are means over draws with their standard errors.
Kernels: linear, and Gaussian with one half, one and two times the usual length-scale (the sweep: linear and the usual
one).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.model_selection import GroupKFold

from preflearn import KPCR, RLS, KPCRank, KPCRankCV, RankRLS, RankRLSCV
from preflearn.datasets import make_noisy_parse_ranking
from preflearn.io import read_svmlight
from preflearn.kernels import gram, resolve_kernel
from preflearn.metrics import disagreement_error

METHODS = ("KPCR", "KPCRank", "RLS", "RankRLS")
PAPER = {
    "KPCR": (0.40, 0.46, 0.47),
    "KPCRank": (0.37, 0.41, 0.42),
    "RLS": (0.34, 0.43, 0.46),
    "RankRLS": (0.35, 0.45, 0.47),
}
NOISE = (0.0, 0.5, 1.0)
MAX_COMPONENTS = 100
FOLDS = GroupKFold(5)


def kernels_of(X):
    usual = resolve_kernel("rbf", X).length_scale
    return [DotProduct(0.0), *(RBF(factor * usual) for factor in (1.0, 0.5, 2.0))]


def regression_paths(K, y, qid):
    """Cross-validated error of RLS for every alpha and of KPCR for every number of components."""
    alphas = np.geomspace(1e-7, 10, 17) * np.linalg.eigvalsh(K)[-1]
    held_rls, held_kpcr = np.empty((len(y), len(alphas))), np.empty((len(y), MAX_COMPONENTS))
    for train, test in FOLDS.split(K, groups=qid):
        K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
        for j, alpha in enumerate(alphas):
            held_rls[test, j] = RLS(alpha, "precomputed").fit(K_train, y[train]).predict(K_test)
        model = KPCR(MAX_COMPONENTS, "precomputed").fit(K_train, y[train])
        path = np.cumsum(model.transform(K_test) * model.coef_, axis=1)  # components are uncorrelated: weights nest
        held_kpcr[test] = path[:, np.minimum(np.arange(MAX_COMPONENTS), path.shape[1] - 1)]

    def errors(held):
        return np.array([disagreement_error(y, column, qid=qid) for column in held.T])

    return alphas, errors(held_rls), errors(held_kpcr)


def choose_and_test(train, test, K_pairs):
    """Return the test error of each method, its parameters chosen on the training sentences."""
    y, qid = train.score, train.group
    best = dict.fromkeys(METHODS, (np.inf, None, None))

    def offer(method, error, model, K):
        if error < best[method][0]:
            best[method] = (error, model, K)

    for K, K_test in K_pairs:
        alphas, rls, kpcr = regression_paths(K, y, qid)
        offer("RLS", rls.min(), RLS(alphas[rls.argmin()], "precomputed"), (K, K_test))
        offer("KPCR", kpcr.min(), KPCR(int(kpcr.argmin()) + 1, "precomputed"), (K, K_test))
        rank = RankRLSCV(kernel="precomputed", cv=FOLDS).fit(K, y, qid=qid)
        offer("RankRLS", -rank.best_score_, RankRLS(rank.alpha_, "precomputed"), (K, K_test))
        path = KPCRankCV(MAX_COMPONENTS, "precomputed", cv=FOLDS).fit(K, y, qid=qid)
        offer("KPCRank", -path.best_score_, KPCRank(path.n_components_, "precomputed"), (K, K_test))
    errors = {}
    for method, (_, model, (K, K_test)) in best.items():
        predicted = model.fit(K, y, qid=qid).predict(K_test)
        errors[method] = disagreement_error(test.score, predicted, qid=test.group)
    return errors


def gram_pairs(X, X_test, n_kernels=4):
    return [(gram(kernel, X), gram(kernel, X_test, X)) for kernel in kernels_of(X)[:n_kernels]]


def simulate(noises, draws, seed=0, n_kernels=4, **parameters):
    """Errors (len(noises), draws, 4) of the methods; each draw has its own data and its own noise."""
    out = np.empty((len(noises), draws, len(METHODS)))
    for d in range(draws):
        data = make_noisy_parse_ranking(random_state=1000 * seed + d, **parameters)
        pairs = gram_pairs(data.train.items, data.test.items, n_kernels)
        for i, noise in enumerate(noises):
            noisy = data.with_noise(noise, random_state=77 + 10 * d + i)
            errors = choose_and_test(noisy.train, data.test, pairs)
            out[i, d] = [errors[method] for method in METHODS]
    return out


def cell(values):
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():.3f} ± {error:.3f}"


def table(out, noises, paper=None):
    head = "".join(f" noise {noise:g} |" + (" paper |" if paper else "") for noise in noises)
    print(f"| method |{head}\n|---|" + "---|" * head.count("|"))
    for m, method in enumerate(METHODS):
        row = "".join(
            f" {cell(out[i, :, m])} |" + (f" {paper[method][i]:.2f} |" if paper else "") for i in range(len(noises))
        )
        print(f"| {method} |{row}")
    print(flush=True)


def sweep(draws, shared):
    """KPCRank's error minus that of the best of the others, over the simulator's parameters."""
    print(
        "Difference of disagreement errors, KPCRank minus the best of KPCR, RLS and RankRLS (negative: KPCRank wins).\n"
    )
    print("| decay | signal | noise 0 | noise 0.5 | noise 1 | best at noise 1 |\n|---|---|---|---|---|---|")
    others = [m for m, name in enumerate(METHODS) if name != "KPCRank"]
    for decay in (0.5, 0.9, 1.5, 2.5):
        for signal in (0.2, 0.5, 0.8, 0.95):
            out = simulate(NOISE, draws, seed=1, n_kernels=2, decay=decay, signal=signal, shared=shared)
            rival = out[..., others].mean(axis=1).argmin(axis=-1)
            gaps = [cell(out[i, :, 1] - out[i, :, others[rival[i]]]) for i in range(len(NOISE))]
            best = METHODS[int(out[-1].mean(axis=0).argmin())]
            print(f"| {decay} | {signal} | {gaps[0]} | {gaps[1]} | {gaps[2]} | {best} |", flush=True)
    print()


def real(directory, draws):
    directory = Path(directory)
    train = read_svmlight(directory / "rank_train.svmlight", n_features=195100, dense=False)
    test = read_svmlight(directory / "rank_test.svmlight", n_features=195100, dense=False)
    pairs = gram_pairs(train.items, test.items)
    out = np.empty((len(NOISE), draws, len(METHODS)))
    rng = np.random.default_rng(0)
    for i, noise in enumerate(NOISE):
        for d in range(draws):
            noisy = type(train)(train.items, train.score + noise * rng.standard_normal(len(train)), train.group)
            errors = choose_and_test(noisy, test, pairs)
            out[i, d] = [errors[method] for method in METHODS]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3, help="draws of data and noise (default 3, as the paper)")
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--shared", type=float, default=0.5, help="simulator's parameter in the sweep (default 0.5)")
    parser.add_argument("--real", metavar="DIRECTORY")
    options = parser.parse_args()
    start = time.perf_counter()
    if options.real:
        table(real(options.real, options.draws), NOISE, PAPER)
    elif options.sweep:
        sweep(options.draws, options.shared)
    else:
        table(simulate(NOISE, options.draws), NOISE, PAPER)
    print(f"{options.draws} draws, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
