"""Comparisons after comparisons: labels are kept as they are."""

import numpy as np
import pytest

from preflearn import Comparisons, PreferenceGP
from preflearn.active import suggest
from preflearn.data.join import concatenate

SIDES = [["ann", "bob"], ["bob", "cy"]]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (["u", "v"], None, ["u", "v", "", ""]),
        (None, ["u", "v"], ["", "", "u", "v"]),
        ([1, 2], None, [1, 2, "", ""]),
        ([1, 2], ["u", "long name"], [1, 2, "u", "long name"]),
        ([1, 2], [3, 1], [1, 2, 3, 1]),
    ],
)
def test_judges_are_kept_and_others_are_unknown(old, new, wanted):
    joined = concatenate(Comparisons(None, *SIDES, judge=old), Comparisons(None, *SIDES, judge=new))
    assert joined.judge.tolist() == wanted
    again = Comparisons(None, joined.names[joined.first], joined.names[joined.second], judge=joined.judge)
    assert again.judge.tolist() == wanted
    unknown = wanted.count("")
    known = f"{len(set(wanted) - {''})}{f' ({unknown} comparisons without one)' if unknown else ''}"
    assert f"judges         {known}" in joined.summary().splitlines()


def test_without_judges_there_are_none_and_groups_need_both():
    plain, grouped = Comparisons(None, *SIDES), Comparisons(None, *SIDES, group=[1, 2])
    assert concatenate(plain, plain).judge is None
    assert concatenate(plain, grouped).group is None
    np.testing.assert_array_equal(concatenate(grouped, grouped).group, [1, 2, 1, 2])


def test_an_updated_model_knows_who_answered():
    model = PreferenceGP(hyperparameters="fixed").fit(Comparisons(None, *SIDES, judge=["u", "u"]))
    model.update(Comparisons(None, ["ann"], ["cy"]))
    assert model.comparisons_.judge.tolist() == ["u", "u", ""]
    found = suggest(model, judges=["u"], answered=model.comparisons_)
    assert set(found.to_dict()["first"] + found.to_dict()["second"]) == {"ann", "cy"}
