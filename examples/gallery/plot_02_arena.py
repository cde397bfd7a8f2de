"""
An arena of models, with style held equal
=========================================

Two models answer one prompt and somebody votes. Long answers win more often. Which model is best if lengths were equal?

Four models are simulated. The two weaker ones write long answers. Votes depend on the quality of both answers, on the
difference in length, and on the prompt, about which each model has six votes.
"""

import matplotlib.pyplot as plt
import numpy as np

import preflearn

rng = np.random.default_rng(0)
models = np.array(["otter", "heron", "finch", "stoat"])
quality, habit = np.array([0.6, 0.2, -0.2, -0.6]), np.array([-0.8, -0.3, 0.6, 0.5])
n = 1800
a = rng.integers(0, 4, n)
b = (a + rng.integers(1, 4, n)) % 4
prompt = np.repeat(np.arange(n // 6), 6)
fit = 0.6 * rng.normal(size=(n // 6, 4))  # what is special about a prompt
longer = habit[a] - habit[b] + rng.normal(size=n)
z = quality[a] - quality[b] + fit[prompt, a] - fit[prompt, b] + 0.9 * longer + rng.logistic(size=n)
votes = {
    "model_a": models[a],
    "model_b": models[b],
    "winner": np.where(z > 0, "model_a", "model_b"),
    "prompt_id": prompt,
    "length_diff": longer,
}

# %%
# A covariate is named, never guessed. The prompt is found by the name of its column.

plain = preflearn.rank(votes)
equal = preflearn.rank(votes, columns={"covariates": "length_diff"})
print("as it looks:       ", *plain.ranking.names)
print("with equal lengths:", *equal.ranking.names)
print("effect of length:  ", equal.model.covariate_effects_[0])

# %%
# Both rankings side by side.

figure, axes = plt.subplots(2, 1, figsize=(6.4, 5), sharex=True)
for ax, result, title in zip(axes, (plain, equal), ("As votes are counted", "With lengths held equal"), strict=True):
    result.plot(ax=ax)
    ax.set_title(f"{title}: {result.ranking.names[0]} is first")
axes[0].set_xlabel("")

# %%
# The truth of the simulation is the second one.

assert plain.ranking.names.tolist() != models.tolist()
assert equal.ranking.names.tolist() == models.tolist()
