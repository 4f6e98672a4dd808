"""Selection for Speech: of each word, and of what is no word, the clips that are nearest to the mean of their word.

dataperf closed run speech_selection.py --leaderboard en-25 --dataset frozen/
"""

import csv
import json
import sys

import numpy as np

with open("/data/task.json") as document:
    max_clips = json.load(document)["max_clips"]
pool = np.load("/data/pool.npy").astype(np.float64)
with open("/data/pool.csv", newline="") as table:
    # the label is empty for what is no target word
    words = np.array([row["label"] for row in csv.DictReader(table)])

n_each = max_clips // len(np.unique(words))
lists = {}
for word in np.unique(words):
    rows = np.flatnonzero(words == word)
    distances = ((pool[rows] - pool[rows].mean(axis=0)) ** 2).sum(axis=1)
    lists[str(word)] = [str(row) for row in rows[np.argsort(distances, kind="stable")][:n_each]]

nontargets = lists.pop("", [])
json.dump({"targets": lists, "nontargets": nontargets}, sys.stdout)
print(f"of {len(pool)} clips chose {n_each} of each of {len(lists)} words and of the others", file=sys.stderr)
