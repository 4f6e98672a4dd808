# %% [markdown]
# # Buy samples
# Gives every seller the same share of a market's budget. Change `shares`; the summaries in `public/` say what sellers have.

# %%
import json
from fractions import Fraction

import numpy as np

LEADERBOARD = "open"
OUT = "my-artifact.json"

with open("manifest.json", encoding="utf-8") as file:
    # prices as they are written: budgets are compared exactly
    markets = json.load(file, parse_float=str, parse_int=str)["parameters"]["markets"]


def summary(market, seller):
    """What a seller says of its rows."""
    with open(f"public/{market}/{seller}.json", encoding="utf-8") as file:
        return json.load(file)


# %% [markdown]
# ## What is bought

# %%
def shares(market, n_sellers):
    """The share of the budget for each seller, which sum to 1 at most."""
    return np.full(n_sellers, 1.0) / n_sellers


artifact = {}
for name, market in markets.items():
    budget = Fraction(market["budget"])
    counts = []
    for seller, share in zip(market["sellers"], shares(name, len(market["sellers"]))):
        price, n_rows = Fraction(seller["max_price"]), int(seller["n_rows"])
        money = min(budget, budget * Fraction(share))
        counts.append(min(n_rows, int(money * n_rows / price)) if price > 0 else n_rows)
    cost = sum(Fraction(s["max_price"]) * n / int(s["n_rows"]) for s, n in zip(market["sellers"], counts))
    # shares are floats, and may be a little more than 1 together
    while cost > budget:
        most = int(np.argmax(counts))
        counts[most] -= 1
        cost -= Fraction(market["sellers"][most]["max_price"]) / int(market["sellers"][most]["n_rows"])
    artifact[name] = counts
    print(f"market {name}: {sum(counts)} samples for {float(cost):.2f} of {float(budget):.2f}")

# %% [markdown]
# ## The artifact

# %%
with open(OUT, "w", encoding="utf-8") as file:
    json.dump(artifact, file)
print(f"wrote {OUT}: dataperf validate data-acquisition --dataset . --leaderboard {LEADERBOARD} {OUT}")
