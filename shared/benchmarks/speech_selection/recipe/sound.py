"""From a word to 1024 floats: speech synthesis, a room, a microphone, log-mel features."""

import subprocess

import numpy as np
from numpy.random import Generator
from scipy.signal import fftconvolve, resample_poly

SAMPLE_RATE_HZ = 16_000
N_SAMPLES = SAMPLE_RATE_HZ  # a clip lasts one second
LONGEST_WORD_SECONDS = 0.9

N_MEL = 64
N_TIME_BINS = 16
HOP = N_SAMPLES // (N_TIME_BINS * 8)  # eight frames to a time bin
WINDOW, N_FFT = 400, 512
GRID = 128  # features are multiples of 1/128: exact in f32, and small after compression
LARGEST = 1.0


def speak(text: str, voice: str, speed: int, pitch: int) -> np.ndarray:
    """Say `text`; returns `(n,)` samples at 16 kHz in [-1, 1], silence at both ends removed."""
    command = ["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "-z", "--stdout", "--", text]
    wav = subprocess.run(command, check=True, capture_output=True).stdout
    if wav[:4] != b"RIFF" or int.from_bytes(wav[24:28], "little") != 22_050:
        raise ValueError(f"`{' '.join(command)}` did not write a RIFF file of 22050 Hz")
    samples = np.frombuffer(wav[44:], dtype="<i2") / 32768.0  # mono, after a header of 44 bytes
    samples = resample_poly(samples, 320, 441)
    loud = np.flatnonzero(np.abs(samples) > 0.01 * np.abs(samples).max())
    return samples[loud[0] : loud[-1] + 1]


def speak_within(text: str, voice: str, speed: int, pitch: int) -> tuple[np.ndarray, int]:
    """Say one word, faster if it would not fit into a clip; returns the samples and the speed."""
    while True:
        samples = speak(text, voice, speed, pitch)
        if len(samples) <= LONGEST_WORD_SECONDS * SAMPLE_RATE_HZ:
            return samples, speed
        speed = round(speed * 1.15)


def clip_of(
    word: str, defect: str, neighbour: str, voice: str, speed: int, pitch: int, rng: Generator
) -> tuple[np.ndarray, int]:
    """The stretch of speech that a word cutter would file under `word`; returns it and the speed."""
    alone, speed = speak_within(word, voice, speed, pitch)
    n = len(alone)
    if defect == "start_cut":  # "-isode"
        return faded(alone[int(n * rng.uniform(0.35, 0.6)) :]), speed
    if defect == "end_cut":  # "weathe-"
        return faded(alone[: int(n * rng.uniform(0.4, 0.65))]), speed
    if defect == "neighbour_after":  # "time to"
        phrase = speak(f"{word} {neighbour}", voice, speed, pitch)
        return faded(phrase[: n + int((len(phrase) - n) * rng.uniform(0.6, 1.0))]), speed
    if defect == "neighbour_before":
        phrase = speak(f"{neighbour} {word}", voice, speed, pitch)
        return faded(phrase[int((len(phrase) - n) * rng.uniform(0.0, 0.4)) :]), speed
    return alone, speed


def faded(samples: np.ndarray, milliseconds: int = 5) -> np.ndarray:
    """Soften both edges so that a cut does not click."""
    ramp = np.linspace(0.0, 1.0, SAMPLE_RATE_HZ * milliseconds // 1000)
    samples = samples.copy()
    samples[: len(ramp)] *= ramp
    samples[-len(ramp) :] *= ramp[::-1]
    return samples


def record(speech: np.ndarray, snr_db: float, rng: Generator) -> np.ndarray:
    """Put speech into a one-second recording: a place in time, a room, noise, a microphone."""
    clip = np.zeros(N_SAMPLES)
    start = (N_SAMPLES - len(speech)) // 2 + int(rng.normal(0.0, 0.03) * SAMPLE_RATE_HZ)
    first, last = max(start, 0), min(start + len(speech), N_SAMPLES)
    clip[first:last] = speech[first - start : last - start]

    reverberation_seconds = rng.uniform(0.1, 0.4)
    t = np.arange(int(reverberation_seconds * SAMPLE_RATE_HZ)) / SAMPLE_RATE_HZ
    tail = rng.normal(size=len(t)) * 10.0 ** (-3.0 * t / reverberation_seconds)  # -60 dB at its end
    tail *= rng.uniform(0.1, 0.5) / np.sqrt((tail**2).sum())
    clip = clip + fftconvolve(clip, tail)[:N_SAMPLES]

    frequency = np.fft.rfftfreq(N_SAMPLES, 1 / SAMPLE_RATE_HZ)
    colour = np.maximum(frequency, 50.0) ** (-rng.uniform(0.0, 0.8))  # white to nearly pink
    noise = np.fft.irfft(np.fft.rfft(rng.normal(size=N_SAMPLES)) * colour)
    noise *= np.sqrt((clip**2).mean() / (noise**2).mean()) * 10.0 ** (-snr_db / 20)

    octaves = np.log2(np.maximum(frequency, 50.0) / 1000.0)
    microphone = 10.0 ** (rng.normal(0.0, 1.5) * octaves / 20)  # a tilt in dB an octave
    clip = np.fft.irfft(np.fft.rfft(clip + noise) * microphone)
    level_db = rng.uniform(-20.0, 0.0)
    return clip / np.abs(clip).max() * 10.0 ** (level_db / 20)


def mel_filters() -> np.ndarray:
    """Triangles spaced evenly in mel from 60 to 7,600 Hz; `(N_MEL, N_FFT // 2 + 1)`."""
    mel = np.linspace(2595 * np.log10(1 + 60 / 700), 2595 * np.log10(1 + 7600 / 700), N_MEL + 2)
    edges = 700 * (10 ** (mel / 2595) - 1)
    frequency = np.fft.rfftfreq(N_FFT, 1 / SAMPLE_RATE_HZ)
    low, middle, high = (edges[k : k + N_MEL, None] for k in range(3))
    triangles = np.minimum((frequency - low) / (middle - low), (high - frequency) / (high - middle))
    filters = np.maximum(triangles, 0.0)
    # A low triangle may be narrower than a bin of the transform: give it the nearest bin.
    for k in np.flatnonzero(filters.sum(axis=1) == 0):
        filters[k, np.abs(frequency - edges[k + 1]).argmin()] = 1.0
    return filters / filters.sum(axis=1, keepdims=True)


MEL = mel_filters()


def log_mel(clip: np.ndarray) -> np.ndarray:
    """Log-mel energies, 64 bands by 16 time bins, band by band; `(1024,)`, mean 0 and variance 1."""
    padded = np.pad(clip, (WINDOW - HOP) // 2 + 1)
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP][: N_TIME_BINS * 8]
    power = np.abs(np.fft.rfft(frames * np.hanning(WINDOW), N_FFT)) ** 2
    energies = np.log(power @ MEL.T + 1e-6)  # the floor of a quiet converter
    pooled = energies.reshape(N_TIME_BINS, 8, N_MEL).mean(axis=1).T.ravel()
    return (pooled - pooled.mean()) / pooled.std()


def standardised(log_mels: np.ndarray, is_train: np.ndarray) -> np.ndarray:
    """Each feature centred and scaled by the training pool's mean and four deviations, as f32.

    What all speech has in common would otherwise dominate: the benchmark's logistic regression then
    stops at its limit of 100 iterations, far from converged, where the last bits of the arithmetic
    decide the score, so that it differs from one processor to another. This way it takes about 50.
    """
    pool = log_mels[is_train]
    scaled = (log_mels - pool.mean(axis=0)) / (4 * pool.std(axis=0))
    return (np.round(np.clip(scaled, -LARGEST, LARGEST) * GRID) / GRID).astype(np.float32)
