"""
Who is best, and how sure is that?
==================================

Fourteen teas were tasted in pairs by twelve judges.
"""

import preflearn

result = preflearn.rank("../tastings.csv", "../teas.csv")
result.plot()
assert result.ranking.names[0] == "Darjeeling"
