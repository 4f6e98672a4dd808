#!/usr/bin/env python3
"""Train the network of `curation` in PyTorch, as docs/models.md describes it, and compare with ours.

Nothing is taken over from ours but the images: weights and the order of the examples are drawn here, by NumPy.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from checks import Checks

CHANNELS = (16, 32, 64, 64)
BATCH, PEAK, MOMENTUM, DECAY = 64, 0.05, 0.9, 5e-4
UPDATES, WITHIN, SEEDS_OF_UPDATES = 20, 1e-5, 3
POINTS = 1.5  # between the mean accuracies


def parameters_of(random: np.random.RandomState, n_classes: int, bits: torch.dtype) -> list[torch.Tensor]:
    """Weights and intercepts of each layer in our order: (3, 3, in, out), (out,), ..., (in, classes), (classes,)."""
    drawn = []
    for n_in, n_out in zip((1, *CHANNELS), CHANNELS):
        bound = (6 / (9 * n_in)) ** 0.5
        drawn += [random.uniform(-bound, bound, (3, 3, n_in, n_out)), np.zeros(n_out)]
    bound = (3 / CHANNELS[-1]) ** 0.5
    drawn += [random.uniform(-bound, bound, (CHANNELS[-1], n_classes)), np.zeros(n_classes)]
    return [torch.tensor(values.astype(np.float32)).to(bits).requires_grad_() for values in drawn]


def read(images: np.ndarray) -> torch.Tensor:
    """`(n, height, width)` grey levels as the network reads them."""
    grey = images.astype(np.float64)
    n, height, width = grey.shape
    if max(height, width) > 32:
        grey = grey[:, : height // 2 * 2, : width // 2 * 2].reshape(n, height // 2, 2, width // 2, 2).mean(axis=(2, 4))
    mean, deviation = grey.mean(axis=(1, 2), keepdims=True), grey.std(axis=(1, 2), keepdims=True)
    return torch.tensor(((grey - mean) / np.maximum(deviation, 1)).astype(np.float32))[:, None]


def forward(parameters: list[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    for layer in range(4):
        weights, intercepts = parameters[2 * layer : 2 * layer + 2]
        x = F.relu(F.conv2d(x, weights.permute(3, 2, 0, 1), intercepts, padding=1))
        x = F.max_pool2d(x, 2) if layer < 3 else x.mean(dim=(2, 3))
    return x @ parameters[8] + parameters[9]


def order(random: np.random.RandomState, n: int):
    while True:
        yield from random.permutation(n)


def rate(update: int, n_updates: int) -> float:
    """Of the update with that number, from 1."""
    warm = n_updates // 10
    return PEAK * update / warm if update <= warm else PEAK * (n_updates + 1 - update) / (n_updates - warm)


def train(
    images: np.ndarray, classes: np.ndarray, n_classes: int, seed: int, n_updates: int, stop: int, bits=torch.float32
) -> list[torch.Tensor]:
    random = np.random.RandomState(seed)
    parameters = parameters_of(random, n_classes, bits)
    optimizer = torch.optim.SGD(parameters, lr=PEAK, momentum=MOMENTUM, weight_decay=DECAY)
    x, y, rows = read(images).to(bits), torch.tensor(classes.astype(np.int64)), order(random, len(images))
    for update in range(1, stop + 1):
        batch = [next(rows) for _ in range(BATCH)]
        for group in optimizer.param_groups:
            group["lr"] = rate(update, n_updates)
        optimizer.zero_grad()
        F.cross_entropy(forward(parameters, x[batch]), y[batch]).backward()
        optimizer.step()
    return parameters


def accuracy(parameters: list[torch.Tensor], images: np.ndarray, classes: np.ndarray) -> float:
    with torch.no_grad():
        return float((forward(parameters, read(images)).argmax(dim=1).numpy() == classes).mean())


class Ours:
    """Our network, by an example program that reads and writes plain files."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.folder = program, folder

    def sets(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The start set and many hidden images of the demo's numerals."""
        subprocess.run([self.program, "sets", self.folder], check=True)
        return [self.load(name) for name in ("start", "hidden")]

    def load(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        classes = np.fromfile(self.folder / f"{name}.classes", np.uint8)
        return np.fromfile(self.folder / f"{name}.pixels", np.uint8).reshape(len(classes), 32, 32), classes

    def train(self, images: np.ndarray, classes: np.ndarray, hidden: np.ndarray, seed: int, stop: int | None):
        """How many updates there are in all, the parameters after `stop` of them (all by default), the predictions."""
        images.tofile(self.folder / "pixels")
        classes.astype(np.uint8).tofile(self.folder / "labels")
        hidden.tofile(self.folder / "unseen")
        shape = map(str, images.shape[1:])
        limit = [] if stop is None else [str(stop)]
        said = subprocess.run(
            [self.program, "train", self.folder, *shape, str(int(classes.max()) + 1), str(seed), *limit],
            check=True, capture_output=True, text=True,
        )
        flat = np.fromfile(self.folder / "parameters", "<f4")
        return int(said.stdout), flat, np.fromfile(self.folder / "predictions", np.uint8)


def flat(parameters: list[torch.Tensor]) -> np.ndarray:
    return np.concatenate([values.detach().numpy().ravel() for values in parameters])


def same_updates(check: Checks, ours: Ours, start: tuple[np.ndarray, np.ndarray]) -> None:
    """Ours and PyTorch's, in 32 or in 64 bits: where a number is about 0, or two of a pooling are about the same, rounding
    decides where its derivative goes, and PyTorch in 32 bits can be 1e-4 apart from itself in 64. So one seed of three may
    differ from both."""
    random = np.random.RandomState(0)
    cases = {"numerals, 32 x 32": start}
    for height, width, n_classes, n in ((16, 16, 3, 100), (17, 29, 10, 500), (64, 64, 2, 40), (33, 20, 7, 90), (20, 61, 256, 700)):
        classes = np.arange(n) % n_classes
        coarse = random.uniform(0, 255, (n_classes, 4, 4))[classes] * random.uniform(0.5, 1, (n, 1, 1))
        images = coarse.repeat(-(-height // 4), axis=1).repeat(-(-width // 4), axis=2)[:, :height, :width]
        images = np.clip(images + random.normal(0, 20, images.shape), 0, 255).astype(np.uint8)
        cases[f"{n} images of {height} x {width}, {n_classes} classes"] = (images, classes)
    for name, (images, classes) in cases.items():
        n_classes, by_bits, moved = int(classes.max()) + 1, {32: [], 64: []}, []
        for seed in range(SEEDS_OF_UPDATES):
            n_updates, got, _ = ours.train(images, classes, images[:1], seed, UPDATES)
            fit = (images, classes, n_classes, seed, n_updates)
            for bits, apart in by_bits.items():
                apart.append(np.abs(flat(train(*fit, UPDATES, getattr(torch, f"float{bits}"))) - got).max())
            moved.append(np.abs(flat(train(*fit, 0)) - got).max())
        n_same = sum(min(pair) <= WITHIN for pair in zip(*by_bits.values()))
        holds = n_same >= SEEDS_OF_UPDATES - 1 and min(moved) > 100 * WITHIN
        told = "; ".join(f"{bits} bits: apart {', '.join(f'{one:.1e}' for one in apart)}" for bits, apart in by_bits.items())
        check(f"{name}: {UPDATES} updates", holds, f"{told}; moved {min(moved):.1e}")


def same_accuracy(check: Checks, ours: Ours, start, hidden, n_seeds: int) -> None:
    got, wanted = [], []
    for seed in range(n_seeds):
        n_updates, _, predicted = ours.train(*start, hidden[0], seed, None)
        got.append(float((predicted == hidden[1]).mean()))
        theirs = train(*start, 10, seed, n_updates, n_updates)
        wanted.append(accuracy(theirs, *hidden))
        print(f"         seed {seed}: ours {100 * got[-1]:.2f} %, PyTorch {100 * wanted[-1]:.2f} %", flush=True)
    apart = 100 * abs(np.mean(got) - np.mean(wanted))
    told = f"ours {100 * np.mean(got):.2f} %, PyTorch {100 * np.mean(wanted):.2f} %"
    check(f"mean accuracy of {n_seeds} seeds", apart <= POINTS, told)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--bin", type=Path, required=True)
    options.add_argument("--size", choices=("quick", "full"), default="quick")
    given = options.parse_args()
    check = Checks()
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(given.bin / "examples" / "curation", Path(folder))
        start, hidden = ours.sets()
        same_updates(check, ours, start)
        same_accuracy(check, ours, start, hidden, 5 if given.size == "full" else 1)
    print(f"network: {check.n - len(check.failed)} of {check.n} agree")
    sys.exit(bool(check.failed))


if __name__ == "__main__":
    main()
