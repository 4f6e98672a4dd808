# %% [markdown]
# # Choose clips
# Takes of each target word, and of the nontargets, the clips that are nearest to the mean of their kind. Change `nearest`.

# %%
import csv
import json

import numpy as np

LEADERBOARD = "en-25"
OUT = "my-artifact.json"

with open("manifest.json", encoding="utf-8") as file:
    rules = json.load(file)["parameters"]
limits = rules["leaderboards"][LEADERBOARD]
language = limits["language"]
embeddings = np.load(f"data/{language}.npy", mmap_mode="r")
with open(f"data/{language}.csv", encoding="utf-8", newline="") as file:
    clips = list(csv.DictReader(file))
labels = np.array([clip["label"] for clip in clips])
print(f"{LEADERBOARD}: at most {limits['max_clips']} of {len(clips)} clips, {embeddings.shape[1]} numbers each")

# %% [markdown]
# ## The choice

# %%
def nearest(rows, n):
    """The `n` of these rows that are nearest to their mean."""
    x = embeddings[rows]
    distances = ((x - x.mean(axis=0)) ** 2).sum(axis=1)
    return rows[np.argsort(distances, kind="stable")[:n]]


words = sorted(set(labels) - {"nontarget"})
n_targets = limits["max_clips"] * 6 // 10
chosen = {}
for place, word in enumerate(words):
    n = n_targets // len(words) + (place < n_targets % len(words))
    chosen[word] = nearest(np.flatnonzero(labels == word), n)
n_taken = sum(len(rows) for rows in chosen.values())
nontargets = nearest(np.flatnonzero(labels == "nontarget"), limits["max_clips"] - n_taken)

# %% [markdown]
# ## The artifact

# %%
ids = lambda rows: [clips[row]["id"] for row in rows]
artifact = {"targets": {word: ids(rows) for word, rows in chosen.items()}, "nontargets": ids(nontargets)}
with open(OUT, "w", encoding="utf-8") as file:
    json.dump(artifact, file, ensure_ascii=False)
print(f"wrote {OUT}: dataperf validate speech-selection --dataset . --leaderboard {LEADERBOARD} {OUT}")
