"""What to compare next, and that report, inspect and suggest answer from the model that ranked."""

import numpy as np
import pytest
from ranking_data import by_utility, circular

from preflearn import Comparisons, rank
from preflearn.active import information_gain
from preflearn.analysis.limits import Limits
from preflearn.analysis.suggestions import next_comparisons


@pytest.mark.slow
def test_where_preferences_run_in_circles_the_least_sure_pair_is_asked_about():
    result = rank(circular(0))
    assert "circles" in result.ladder.terms
    found = next_comparisons(result.model, 5)
    assert found.criterion == "preferences"
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
def test_judges_who_differ_are_asked_what_tells_of_what_all_share():
    first, second = (np.tile(side, 8) for side in np.triu_indices(6, 1))
    who = np.repeat([f"j{k}" for k in range(8)], 15)
    camps = Comparisons(6, first, second, np.where(who < "j4", 1.0, -1.0), judge=who)
    result = rank(camps, circles=False, model="bradley-terry+tastes")
    assert "tastes" in result.ladder.terms
    found = next_comparisons(result.model, 3)
    one = Comparisons(6, found.first[:1], found.second[:1])
    assert found.gain[0] == pytest.approx(information_gain(result.model, one)[0])
    # a member of a camp says what the camp thinks, and a stranger less of what all do than one of one mind would
    named = next_comparisons(result.model, 2, judges=["j0", "new"])
    assert named.gain[0] >= found.gain[0] * (1 - 1e-9)
    assert set(named.judge) == {"j0", "new"}


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda: by_utility(0, m=80)[0], lambda: circular(1)], ids=["utility", "circles"])
def test_asking_does_not_depend_on_the_order_of_rows(make):
    data = make()
    order = np.random.default_rng(0).permutation(len(data))
    one, other = (next_comparisons(rank(part).model, 4) for part in (data, data[order]))
    assert one.first_name.tolist() == other.first_name.tolist()
    np.testing.assert_allclose(one.gain, other.gain, atol=1e-6)
