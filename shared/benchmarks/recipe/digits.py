"""The UCI handwritten digits that scikit-learn ships, as small embeddings.

An embedding here is 64 numbers: the 8 by 8 image's intensities (0 to 16), centred and scaled by the mean and the
standard deviation of all images together, and rounded to multiples of 1/128, which 32-bit floats hold exactly.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits


@dataclass(frozen=True)
class Digits:
    """All 1,797 images: `ids` (n,), `vectors` (n, 64) 32-bit floats, `digits` (n,) 0 to 9."""

    ids: np.ndarray
    vectors: np.ndarray
    digits: np.ndarray


def load() -> Digits:
    source = load_digits()
    pixels = source.data.astype(np.float64)
    vectors = np.round((pixels - pixels.mean()) / pixels.std() * 128) / 128
    # the public layout's ids are 16 hexadecimal digits
    ids = [hashlib.sha256(f"digit {k}".encode()).hexdigest()[:16] for k in range(len(pixels))]
    return Digits(np.array(ids), vectors.astype(np.float32), source.target)


def jittered(digits: Digits, rows: np.ndarray, rng: np.random.Generator, noise: float) -> np.ndarray:
    """Copies of some vectors with Gaussian noise, on the same grid of 1/128."""
    moved = digits.vectors[rows].astype(np.float64) + rng.normal(scale=noise, size=(len(rows), 64))
    return (np.round(moved * 128) / 128).astype(np.float32)
