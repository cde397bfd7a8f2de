"""Do preferences run in circles, and does it help to say so?

    python examples/inconsistent_preferences.py

30 items have a hidden state each, and another utility decides for every pair of states: with one state there is a
ranking, with five there are circles. Three models learn from 70 % of the comparisons: a utility (PGP), a preference
function that may be cyclic (GPGP), and both at once. The evidence of the training part says which to take.
`preflearn reproduce gpgp-fig2 gpgp-table1` runs the paper's experiments.
"""

from __future__ import annotations

from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from preflearn import OnItems, PreferenceGP
from preflearn.datasets import make_cyclic_preferences

MODELS = {
    "utility": PreferenceGP("rbf", "logit", n_restarts=0),
    "circles": PreferenceGP(None, "logit", cyclic_kernel="rbf", n_restarts=0),
    "both": PreferenceGP("rbf", "logit", cyclic_kernel="rbf", n_restarts=0),
}


def judge(n_states, seed):
    """Return accuracy on held-out comparisons and log evidence of each model."""
    data = make_cyclic_preferences(n_states, random_state=seed).comparisons
    train, test = train_test_split(OnItems(StandardScaler()).fit_transform(data), test_size=0.3, random_state=seed)
    found = {}
    for name, model in MODELS.items():
        model.fit(train)
        found[name] = model.score(test), model.log_evidence_
    return found


def main():
    for n_states in (1, 5):
        found = judge(n_states, seed=0)
        best = max(found, key=lambda name: found[name][1])
        print(f"{n_states} hidden state{'s' if n_states > 1 else ''}: the evidence is for {best}")
        for name, (accuracy, evidence) in found.items():
            print(f"  {name:8} accuracy {accuracy:.3f}, log evidence {evidence:.1f}")
        accuracy = {name: figures[0] for name, figures in found.items()}
        if n_states == 1:
            assert accuracy["utility"] > accuracy["circles"], "one state is a ranking"
        else:
            assert accuracy[best] > accuracy["utility"] + 0.05, "no utility explains circles"


if __name__ == "__main__":
    main()
