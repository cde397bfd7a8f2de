"""Which method the default, "auto", is: EP where rows share latents of their own, Laplace's method elsewhere."""

import numpy as np
import pytest

from preflearn import BradleyTerry, Comparisons, PreferenceGP

DEVIATION = 1.5  # of the effects of prompts


def votes(seed, n=20, prompts=120, seen=20):
    """Return ten votes about each prompt, any two of its items each time, and the true utilities."""
    rng = np.random.default_rng(seed)
    u, effect = rng.normal(size=n), DEVIATION * rng.normal(size=(prompts, n))
    prompt = np.repeat(np.arange(prompts), 10)
    first = rng.integers(0, seen, len(prompt))
    second = (first + rng.integers(1, seen, len(prompt))) % seen
    z = u[first] - u[second] + effect[prompt, first] - effect[prompt, second]
    outcome = np.where(rng.logistic(size=len(z)) < z, 1.0, -1.0)
    return Comparisons(n, first, second, outcome, cluster=prompt, judge=rng.integers(0, 5, len(z))), u


@pytest.mark.parametrize(
    ("terms", "wanted"), [({"cluster": True}, "ep"), ({"judge_kernel": "identity"}, "ep"), ({}, "laplace")]
)
def test_rows_that_share_latents_are_learned_by_moments(terms, wanted):
    data, _ = votes(0, prompts=8)
    models = {name: PreferenceGP(None, "logit", name, hyperparameters="fixed", **terms) for name in ("auto", wanted)}
    one, other = (model.fit(data).predict_utility(return_std=True) for model in models.values())
    np.testing.assert_array_equal(one, other)
    if "judge_kernel" not in terms:
        one, other = (BradleyTerry(inference=name, **terms).fit(data) for name in ("auto", wanted))
        np.testing.assert_array_equal(one.utility_, other.utility_)


def test_where_votes_weigh_much_the_mode_says_as_much():
    data, _ = votes(0, prompts=8)
    heavy = data._take(slice(None), weight=np.full(len(data), 1e6))
    model = PreferenceGP(None, "logit", cluster=True, hyperparameters="fixed")
    expected = PreferenceGP(None, "logit", "laplace", cluster=True, hyperparameters="fixed").fit(heavy)
    np.testing.assert_array_equal(model.fit(heavy).predict_utility(), expected.predict_utility())


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator", [BradleyTerry(cluster=True), PreferenceGP(None, "logit", cluster=True, n_restarts=0)]
)
def test_effects_of_prompts_that_few_votes_see_are_found(estimator):
    # Laplace's method finds deviations of 0.4 to 0.7 here, and utilities 1.6 times too close together.
    found = []
    for seed in range(4):
        data, u = votes(seed)
        model = estimator.fit(data)
        ranking = model.rank()
        truth = (u - u.mean())[ranking.row]
        held = np.mean((ranking.low <= truth) & (truth <= ranking.high))
        found.append([np.sqrt(model.cluster_variance_), np.polyfit(ranking.utility, truth, 1)[0], held])
    deviation, slope, held = np.mean(found, axis=0)
    assert DEVIATION / 1.4 < deviation < DEVIATION * 1.4
    assert 0.85 < slope < 1.2
    assert held > 0.7
