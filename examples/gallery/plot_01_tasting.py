"""
A tasting with twelve judges
============================

Twelve judges tasted fourteen teas in pairs. Which tea is best, and did all judges answer the same question?

The table of tastings says who tasted which two teas and which one was better; a second table has the kind, the caffeine
and the price of each tea. One call reads both, chooses a model by evidence, and ranks.
"""

import matplotlib.pyplot as plt

import preflearn

result = preflearn.rank("../tastings.csv", "../teas.csv")
print(result.ladder.why)

# %%
# The evidence is for a model in which judges differ in how closely they follow the common taste. One of them is below
# zero: his answers point the other way. They still count, with the other sign.

for warning in result.warnings:
    print("-", warning)

# %%
# A line through the dot is a 90 % interval. Thin lines part tiers: teas of a tier cannot be told from its first.

figure, (left, right) = plt.subplots(2, 1, figsize=(6.4, 8), height_ratios=(5, 4))
result.plot(ax=left)
left.set_title("Darjeeling is first; places 2 to 9 are shared")

report = result.judges
right.errorbar(report.reliability, report.judge, xerr=1.64 * report.std, fmt="o", elinewidth=4, ecolor="#a9cbe6")
right.axvline(0, color="#565b63", linewidth=0.8)
right.set_title("One judge of twelve answers the other way round")
right.set_xlabel("reliability: 1 as usual, 0 by chance, below 0 against the others")

# %%
# Was that found because we looked for it? The data were made by a script, in which Hugo is the one who has
# misunderstood the question, and Darjeeling the best.

assert result.ranking.names[0] == "Darjeeling"
assert [judge for judge, verdict in zip(report.judge, report.verdict, strict=True) if verdict == "contrary"] == ["Hugo"]
