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


def draws(random: np.random.Generator, truth: np.ndarray) -> np.ndarray:
    """`(N_DRAWS, n_items)` multinomial weights in each class."""
    weights = np.zeros((N_DRAWS, len(truth)), dtype=np.float32)
    for label in np.unique(truth):
        items = np.flatnonzero(truth == label)
        weights[:, items] = random.multinomial(len(items), np.full(len(items), 1 / len(items)), size=N_DRAWS)
    return weights


def accuracies(truth: np.ndarray, models: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """`(N_DRAWS, n_models)` accuracies."""
    return draws(random, truth) @ (models == truth).T.astype(np.float32) / len(truth)


def acquisition(random: np.random.Generator) -> np.ndarray:
    """Five markets of 1,000 items, ten trials each, which are drawn as well."""
    n_trials, markets = 10, []
    for _ in range(5):
        truth = random.integers(2, size=1_000)
        models = np.where(random.random((n_trials, 1_000)) < 0.15, 1 - truth, truth)
        of_trials = accuracies(truth, models, random)
        drawn = np.take_along_axis(of_trials, random.integers(n_trials, size=of_trials.shape), axis=1).mean(axis=1)
        mean = of_trials.mean(axis=1)
        markets.append(mean + (drawn - mean) * np.sqrt(n_trials / (n_trials - 1)))
    return np.mean(markets, axis=0)


def curves(random: np.random.Generator, n_tasks: int, n_items: int) -> np.ndarray:
    """Where 300 models of a course reach 95 % of the last one's accuracy: three in ten steps change nine answers."""
    tasks = []
    for _ in range(n_tasks):
        truth = random.integers(2, size=n_items)
        flips = np.zeros((300, n_items), dtype=bool)
        for step in np.flatnonzero(random.random(300) < 0.3):
            flips[step, random.integers(n_items, size=9)] = True
        models = (truth ^ (np.cumsum(flips, axis=0) % 2))[::-1]
        of_models = accuracies(truth, models, random)
        tasks.append((of_models >= 0.95 * of_models[:, -1:]).argmax(axis=1) / 300)
    return np.mean(tasks, axis=0)


def curation(random: np.random.Generator) -> np.ndarray:
    """The accuracy of one model on 520 images of ten classes."""
    truth = random.integers(10, size=520)
    return accuracies(truth, np.where(random.random((1, 520)) < 0.15, random.integers(10, size=(1, 520)), truth), random)


def timed(name: str, run) -> None:
    """The median of five runs."""
    times = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        began, processor = time.perf_counter(), time.process_time()
        deviation = run(random).std()
        times.append((time.perf_counter() - began, time.process_time() - processor))
    wall, processor = np.median(times, axis=0)
    least = np.min(times, axis=0)[1]
    print(f"{name}: {wall:.3f} s, {processor:.3f} s of processor time, {least:.3f} s at least; standard error {deviation:.5f}")


def main() -> None:
    timed("acquisition", acquisition)
    timed("vision-debugging, whole curves of eight tasks", lambda random: curves(random, 8, 300))
    timed("own debugging, a whole curve", lambda random: curves(random, 1, 500))
    timed("curation", curation)
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
