#!/usr/bin/env python3
"""1,000 bootstrap draws of a score in NumPy, stratified by class, for the times in docs/performance.md.

The sizes are those of `cargo bench -p dataperf-numerics --bench replicates`. Nothing is compared but time.
"""

import time

import numpy as np

N_DRAWS = 1_000


def scores(truth: np.ndarray, models: np.ndarray, random: np.random.Generator, n_classes: int) -> np.ndarray:
    """`(N_DRAWS, n_models)` macro F1: multinomial weights in each class, then one product with what was predicted."""
    predicted = np.zeros((N_DRAWS, len(models), n_classes))
    right = np.zeros_like(predicted)
    actual = np.bincount(truth, minlength=n_classes)
    for label in range(n_classes):
        items = np.flatnonzero(truth == label)
        weights = random.multinomial(len(items), np.full(len(items), 1 / len(items)), size=N_DRAWS)
        answers = (models[:, items, None] == np.arange(n_classes)).transpose(1, 0, 2).reshape(len(items), -1)
        sums = (weights.astype(np.float32) @ answers.astype(np.float32)).reshape(predicted.shape)
        predicted += sums
        right[:, :, label] = sums[:, :, label]
    return (2 * right / (predicted + actual)).mean(axis=2)


def main() -> None:
    for name, n_items, n_classes, n_models in [("speech", 30_733, 6, 10), ("speech of the demo", 400, 6, 10), ("vision", 1_000, 2, 1), ("100 classes", 10_000, 100, 1)]:
        random = np.random.default_rng(1)
        truth = random.integers(n_classes, size=n_items)
        wrong = random.random((n_models, n_items)) < 0.15
        models = np.where(wrong, random.integers(n_classes, size=(n_models, n_items)), truth)
        times = []
        for _ in range(5):
            began, processor = time.perf_counter(), time.process_time()
            deviation = scores(truth, models, random, n_classes).mean(axis=1).std()
            times.append((time.perf_counter() - began, time.process_time() - processor))
        wall, processor = np.median(times, axis=0)
        print(f"{name}: {wall:.3f} s, {processor:.3f} s of processor time; standard error {deviation:.5f}")


if __name__ == "__main__":
    main()
