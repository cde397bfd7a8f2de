"""What to compare next, and that report, inspect and suggest answer from the model that ranked."""

import numpy as np
import pytest
from ranking_data import by_utility, circular

from preflearn import BradleyTerry, Comparisons, rank
from preflearn.analysis.limits import Limits
from preflearn.analysis.suggestions import model_to_ask, next_comparisons


@pytest.mark.slow
def test_where_preferences_run_in_circles_the_least_sure_pair_is_asked_about():
    result = rank(circular(0))
    assert "circles" in result.ladder.terms
    found = next_comparisons(result.model, 5)
    assert found.criterion == "preference"
    assert (np.diff(found.gain) <= 0).all()
    matrix = result.model.preference_matrix()
    mean, std = matrix.mean[found.first[0], found.second[0]], matrix.std[found.first[0], found.second[0]]
    z = mean + std * np.linspace(-9, 9, 20_001)
    density = np.exp(-0.5 * ((z - mean) / std) ** 2)
    density /= density.sum()
    p = 1 / (1 + np.exp(-z))

    def entropy(q):
        return -q * np.log(q) - (1 - q) * np.log1p(-q)

    np.testing.assert_allclose(found.gain[0], entropy(density @ p) - density @ entropy(p), rtol=1e-6)
    names = result.data.names
    assert found.first_name.tolist() == names[found.first].tolist()


@pytest.mark.slow
def test_of_many_items_in_circles_the_best_are_looked_at():
    result = rank(circular(0))
    found = next_comparisons(result.model, 50, limits=Limits(paired_items=4))
    assert len(found) == 6
    best = np.argsort(-result.model.predict_utility())[:4]
    assert set(found.first) | set(found.second) == set(best)


@pytest.mark.slow
def test_judges_are_left_out_of_what_to_ask():
    judge = [f"j{k}" for k in np.random.default_rng(0).integers(0, 4, 200)]
    data, _ = by_utility(3, n=6, m=200, judge=judge)
    result = rank(data, model="judges", circles=False)
    alone = model_to_ask(result.data, result.model, result.analysis)
    pooled = rank(data, model="bradley-terry", circles=False)
    np.testing.assert_array_equal(alone.utility_, pooled.model.utility_)
    first, second = (np.tile(side, 8) for side in np.triu_indices(6, 1))
    who = np.repeat([f"j{k}" for k in range(8)], 15)
    camps = Comparisons(6, first, second, np.where(who < "j4", 1.0, -1.0), judge=who)
    apart = rank(camps, model="judges", circles=False)
    chosen = rank(camps, circles=False)
    assert "tastes" in chosen.ladder.terms
    asked = [
        model_to_ask(one.data, one.model, one.analysis) for one in (apart, chosen)
    ]  # what was tried does not matter
    assert all(isinstance(model, BradleyTerry) for model in asked)
    np.testing.assert_array_equal(asked[0].utility_, asked[1].utility_)
    np.testing.assert_array_equal(asked[0].std_, asked[1].std_)


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda: by_utility(0, m=80)[0], lambda: circular(1)], ids=["utility", "circles"])
def test_asking_does_not_depend_on_the_order_of_rows(make):
    data = make()
    order = np.random.default_rng(0).permutation(len(data))
    one, other = (next_comparisons(rank(part).model, 4) for part in (data, data[order]))
    assert one.first_name.tolist() == other.first_name.tolist()
    np.testing.assert_allclose(one.gain, other.gain, atol=1e-6)
