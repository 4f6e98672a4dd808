#!/usr/bin/env python3
"""Print DataScope's Shapley values of the training set in an `.npz` file: its neighbour method with its defaults."""

import json
import sys

import numpy as np
from datascope.importance.shapley import ImportanceMethod, ShapleyImportance
from datascope.importance.utility import SklearnModelAccuracy
from sklearn.linear_model import LogisticRegression

task = np.load(sys.argv[1])
importance = ShapleyImportance(method=ImportanceMethod.NEIGHBOR, utility=SklearnModelAccuracy(LogisticRegression()))
values = importance.fit(task["x"], task["y"]).score(task["validation_x"], task["validation_y"])
print(json.dumps([float(value) for value in values]))
