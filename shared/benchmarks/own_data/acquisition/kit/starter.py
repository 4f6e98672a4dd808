# %% [markdown]
# # Buy examples
# Gives every seller the same share of the budget. Change `shares`; the summaries in `public/sellers/` say what sellers have.

# %%
import json
from fractions import Fraction

import numpy as np

LEADERBOARD = "my-board"
OUT = "my-artifact.json"

with open("manifest.json", encoding="utf-8") as file:
    # prices as they are written: the budget is compared exactly
    market = json.load(file, parse_float=str, parse_int=str)["parameters"]
sellers, budget = market["sellers"], Fraction(market["budget"])


def summary(seller):
    """What the seller of this number says of its rows."""
    with open(f"public/sellers/{seller}.json", encoding="utf-8") as file:
        return json.load(file)


# %% [markdown]
# ## What is bought

# %%
def shares(n_sellers):
    """The share of the budget for each seller, which sum to 1 at most."""
    return np.full(n_sellers, 1.0) / n_sellers


counts = []
for seller, share in zip(sellers, shares(len(sellers))):
    price, n_rows = Fraction(seller["price"]), int(seller["n_rows"])
    money = min(budget, budget * Fraction(share))
    counts.append(min(n_rows, int(money * n_rows / price)) if price > 0 else n_rows)
cost = sum(Fraction(seller["price"]) * n / int(seller["n_rows"]) for seller, n in zip(sellers, counts))
# shares are floats, and may be a little more than 1 together
while cost > budget:
    most = int(np.argmax(counts))
    counts[most] -= 1
    cost -= Fraction(sellers[most]["price"]) / int(sellers[most]["n_rows"])
print(f"{LEADERBOARD}: {sum(counts)} examples for {float(cost):.2f} of {float(budget):.2f}")

# %% [markdown]
# ## The artifact

# %%
with open(OUT, "w", encoding="utf-8") as file:
    json.dump({"counts": {seller["name"]: n for seller, n in zip(sellers, counts)}}, file, ensure_ascii=False)
print(f"wrote {OUT}: dataperf validate acquisition --dataset . --leaderboard {LEADERBOARD} {OUT}")
