# %% [markdown]
# # Clean the start set
# Leaves out what is farthest from the mean of its class, a tenth of each class. Change `keep`.

# %%
import csv
import json
import os
import zipfile

import numpy as np

LEADERBOARD = "my-board"

with open("manifest.json", encoding="utf-8") as file:
    rules = json.load(file)["parameters"]
board = next(board for board in rules["leaderboards"] if board["name"] == LEADERBOARD)
is_images = rules["examples"]["kind"] == "images"
OUT = "my-artifact.zip" if is_images else "my-artifact.csv"

# %% [markdown]
# ## The start set
# `data/start.npy` has the numbers of each example, of images their levels of grey, and `data/start.csv` their labels.

# %%
features = np.load("data/start.npy").astype(float)
with open("data/start.csv", encoding="utf-8", newline="") as file:
    examples = list(csv.DictReader(file))
labels = np.array([example["label"] for example in examples])
print(f"{LEADERBOARD}: {len(examples)} examples to begin with, at most {board['max_examples']}")

# %% [markdown]
# ## What stays

# %%
def keep(rows):
    """The nine tenths of these rows that are nearest to their mean."""
    distances = ((features[rows] - features[rows].mean(axis=0)) ** 2).sum(axis=1)
    return rows[np.argsort(distances, kind="stable")[: max(1, len(rows) * 9 // 10)]]


kept = sorted(int(row) for name in sorted(set(labels)) for row in keep(np.flatnonzero(labels == name)))
kept = kept[: board["max_examples"]]

# %% [markdown]
# ## The artifact

# %%
if is_images:
    with zipfile.ZipFile("public/start.zip") as start, zipfile.ZipFile(OUT, "w") as artifact:
        for row in kept:
            name = examples[row]["name"]
            artifact.writestr("/".join(name.split("/")[-2:]), start.read(name))
else:
    with open("public/start.csv", encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    with open(OUT, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *(lines[row] for row in kept)])
print(f"wrote {OUT}, {os.path.getsize(OUT)} bytes: dataperf validate curation --dataset . --leaderboard {LEADERBOARD} {OUT}")
x, y = features[kept], labels[kept]
