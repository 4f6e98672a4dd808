#!/usr/bin/env python3
"""1,000 bootstrap draws of a score in NumPy, stratified by class, for the times in docs/performance.md.

The sizes are those of `cargo bench -p dataperf-numerics --bench replicates`. Nothing is compared but time.
"""

import time

import numpy as np

N_DRAWS = 1_000


def scores(truth: np.ndarray, models: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """`(N_DRAWS, n_models)` accuracies: multinomial weights in each class, then one product with what is right."""
    right = np.zeros((N_DRAWS, len(models)))
    for label in np.unique(truth):
        items = np.flatnonzero(truth == label)
        weights = random.multinomial(len(items), np.full(len(items), 1 / len(items)), size=N_DRAWS)
        right += weights.astype(np.float32) @ (models[:, items] == label).T.astype(np.float32)
    return right / len(truth)


def main() -> None:
    for name, n_items, n_classes, n_models in [("speech", 30_733, 6, 10), ("vision", 1_000, 2, 1)]:
        random = np.random.default_rng(1)
        truth = random.integers(n_classes, size=n_items)
        wrong = random.random((n_models, n_items)) < 0.15
        models = np.where(wrong, random.integers(n_classes, size=(n_models, n_items)), truth)
        times = []
        for _ in range(5):
            began, processor = time.perf_counter(), time.process_time()
            deviation = scores(truth, models, random).mean(axis=1).std()
            times.append((time.perf_counter() - began, time.process_time() - processor))
        wall, processor = np.median(times, axis=0)
        print(f"{name}: {wall:.3f} s, {processor:.3f} s of processor time; standard error {deviation:.5f}")


if __name__ == "__main__":
    main()
