# %% [markdown]
# # Choose and label images
# Takes the images of the pool that are nearest to the mean of a concept's examples as positive, and the farthest as negative. Change `choose`.

# %%
import csv
import json
import os

import numpy as np

LEADERBOARD = "open"
OUT = "my-artifact.json"

with open("manifest.json", encoding="utf-8") as file:
    rules = json.load(file)["parameters"]
pool = np.load("data/pool.npy", mmap_mode="r")
with open("data/pool.csv", encoding="utf-8", newline="") as file:
    ids = [image["id"] for image in csv.DictReader(file)]
row_of = {id: row for row, id in enumerate(ids)}
per_concept = rules["max_examples"] // len(rules["concepts"])
print(f"{', '.join(rules['concepts'])}: at most {per_concept} each of {len(ids)} images, {pool.shape[1]} numbers each")

# %% [markdown]
# ## The choice

# %%
def examples(concept):
    """The rows of the images that the organizer names for a concept; the first of the pool where there are none."""
    path = f"public/examples/{concept}.txt"
    if not os.path.exists(path):
        return [0]
    with open(path, encoding="utf-8") as file:
        return [row_of[id] for id in file.read().splitlines() if id in row_of] or [0]


def choose(concept, n):
    """`n` images, the first half to be labelled 1 and the others 0."""
    distances = np.linalg.norm(pool - pool[examples(concept)].mean(axis=0), axis=1)
    order = np.argsort(distances, kind="stable")
    return order[: n // 2], order[-(n // 2) :]


artifact = {}
for concept in rules["concepts"]:
    near, far = choose(concept, min(per_concept, 200, len(ids)))
    artifact[concept] = {**{ids[row]: 1 for row in near}, **{ids[row]: 0 for row in far}}

# %% [markdown]
# ## The artifact

# %%
with open(OUT, "w", encoding="utf-8") as file:
    json.dump(artifact, file)
print(f"wrote {OUT}: dataperf validate vision-selection --dataset . --leaderboard {LEADERBOARD} {OUT}")
