"""The data that `speed.py` times with, of the paper's size in the public layout, and the reference that scores it.

A process of its own, so that its memory isn't counted as that of the programs it is compared with:

    speed_data.py make BENCHMARK DIR                          also writes DIR/NAME.json, the submissions
    speed_data.py make vision-selection DIR N_POOL N          the same, with a pool of N_POOL images and N submissions
    speed_data.py score BENCHMARK DIR SUBMISSION              the score by scikit-learn 1.2.2
    speed_data.py fits DIR SUBMISSION                         seconds of some of XGBoost's fits
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

warnings.simplefilter("ignore")


def parquet(path: Path, id_name: str, ids: list[str], vector_name: str, x: np.ndarray, **more: list) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), x.shape[1]).cast(pa.list_(pa.float32()))
    pq.write_table(pa.table({id_name: ids, vector_name: vectors, **more}), path)


# -------------------------------------------------------------- Selection for Speech
def make_speech(root: Path) -> dict[str, dict]:
    """About the paper's size: some 13,900 clips to choose from and some 30,700 to be scored with."""
    from conformance import World, make, write

    rng, world = np.random.default_rng(0), World("en", 1, width=1024, spread=3.0, n_other_words=100, train_clips=133, eval_clips=293, correlated=True)
    made = make(world)
    write(made, world, root / "dataperf_en_data", rng)
    pool = [clip for word, clips in made.train.items() if word not in made.targets for clip in clips]
    targets = {word: list(made.train[word])[:8] for word in made.targets}
    return {"balanced": {"targets": targets, "nontargets": [pool[k] for k in rng.permutation(len(pool))[:20]]}}


def reference_speech(root: Path, submission: dict) -> float:
    from conformance import Language, problem, reference

    made = Language(targets=sorted(submission["targets"]))
    chosen = {*submission["targets"], *(clip.split("/")[0] for clip in submission["nontargets"])}
    for split, folder, words in ((made.train, "train_embeddings", chosen), (made.evaluation, "eval_embeddings", None)):
        for path in sorted((root / "dataperf_en_data" / folder).glob("*.parquet")):
            if words is None or path.stem in words:
                table = pd.read_parquet(path)
                split[path.stem] = dict(zip(table.clip_id, table.mswc_embedding_vector))
    return float(np.mean(reference(**problem(made, submission))))


# -------------------------------------------------------------- Selection for Vision
def make_vision(root: Path, n_pool: int = 100_000, n_submissions: int = 1) -> dict[str, dict]:
    rng, submissions = np.random.default_rng(1), [{} for _ in range(n_submissions)]
    layer = rng.standard_normal((40, 256), np.float32) / np.float32(40**0.5)
    z = rng.standard_normal((n_pool, 40), np.float32)
    ids = [f"{k * 2654435761 % 2**40:016x}" for k in range(n_pool)]
    parquet(root / "embeddings/train_emb_256_dataperf.parquet", "ImageID", ids, "embedding", z @ layer + rng.standard_normal((n_pool, 256), np.float32) / 4)
    for concept in ("Cupcake", "Hawk", "Sushi"):
        axis, y = rng.normal(size=40), rng.random(150) < 0.6
        axis /= np.linalg.norm(axis)
        tests = rng.normal(size=(150, 40)) + axis * np.where(y, 1.0, -0.75)[:, None]
        x = (tests @ layer + 0.25 * rng.normal(size=(150, 256))).astype(np.float32)
        parquet(root / f"test_sets/alpha_test_set_{concept}_256.parquet", "ImageID", [f"{k:016x}" for k in range(150)], "embedding", x, Confidence=[str(int(v)) for v in y])
        for chosen in submissions:
            rows = rng.choice(n_pool, 300, replace=False)
            chosen[concept] = {ids[row]: int(z[row] @ axis + 0.5 * rng.normal() > 0) for row in rows}
    return {f"random{k}": chosen for k, chosen in enumerate(submissions)}


def reference_vision(root: Path, submission: dict) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score

    pool, scores = pd.read_parquet(root / "embeddings/train_emb_256_dataperf.parquet").set_index("ImageID").embedding, []
    for concept, labels in submission.items():
        test = pd.read_parquet(root / f"test_sets/alpha_test_set_{concept}_256.parquet")
        model = LogisticRegression(random_state=0).fit([pool[image].tolist() for image in labels], [str(v) for v in labels.values()])
        guess = model.predict([vector.tolist() for vector in test.embedding])
        scores.append(f1_score(list(test.Confidence), guess, pos_label="1"))
    return float(np.mean(scores))


# -------------------------------------------------------------- Data Acquisition
def make_acquisition(root: Path) -> dict[str, dict]:
    rng, market = np.random.default_rng(2), root / "marketinfo/0"
    layer, axis = rng.normal(size=(48, 768)) / 48**0.5, rng.normal(size=48) / 48**0.5
    for folder in (root / "features/0", market / "price", market / "data_buyer"):
        folder.mkdir(parents=True)

    def save(path: Path, n: int, noise: float) -> None:
        z = rng.normal(size=(n, 48))
        y = (z @ axis + 0.6 * rng.normal(size=n) > 0) ^ (rng.random(n) < noise)
        x = ((z @ layer + 0.15 * rng.normal(size=(n, 768))) * 0.05).round(8)
        columns = [pa.array(column) for column in (*x.T, y.astype(float))]
        options = pa.csv.WriteOptions(include_header=False)
        pa.csv.write_csv(pa.table(columns, names=[str(k) for k in range(769)]), path, options)

    sizes = rng.integers(2000, 4001, 20)
    for seller, n in enumerate(sizes):
        save(root / f"features/0/{seller}.csv", int(n), rng.uniform(0, 0.25))
    save(market / "data_buyer/20.csv", 2000, 0.05)
    (market / "price/price.txt").write_text("Lin,100\n" * 20)
    (market / "price/budget.txt").write_text("150\n")
    return {"uniform": {"0": [int(n * 150 / 2000) for n in sizes]}}


def reference_acquisition(root: Path, submission: dict) -> float:
    from sklearn.linear_model import LogisticRegression

    def read(path: Path) -> np.ndarray:
        return pd.read_csv(path, header=None, engine="pyarrow").to_numpy()

    sellers = [read(root / f"features/0/{seller}.csv") for seller in range(20)]
    buyer, generator, scores = read(root / "marketinfo/0/data_buyer/20.csv"), np.random.RandomState(1111), []
    for _ in range(10):
        bought = [rows[generator.choice(len(rows), size=n, replace=True)] for rows, n in zip(sellers, submission["0"])]
        rows = np.concatenate(bought)
        model = LogisticRegression(random_state=0).fit(rows[:, :-1], rows[:, -1])
        scores.append(model.score(buyer[:, :-1], buyer[:, -1]))
    return float(np.mean(scores))


# -------------------------------------------------------------- Debugging for Vision
N_TASKS, N_STEPS, N_TIMED = 8, 300, 12


def make_debugging(root: Path) -> dict[str, dict]:
    """Orders by name. Two classes in a latent space, seen through a random layer with rectifiers; 30 % of labels touched."""
    orders: dict[str, dict] = {"random": {}, "perfect": {}, "consecutive": {}}
    (root / "data").mkdir(parents=True)
    for task in (f"task{k}{'-flipped' * (k % 2)}" for k in range(N_TASKS)):
        rng = np.random.default_rng(sum(task.encode()))
        layer, axis = rng.normal(size=(80, 2048)) / 80**0.5, rng.normal(size=80)
        y = rng.random(800) < 0.5
        z = rng.normal(size=(800, 80)) + axis / np.linalg.norm(axis) * np.where(y, 1.5, -1.5)[:, None]
        x = np.maximum(z @ layer - 0.25 + 0.25 * rng.normal(size=(800, 2048)), 0).astype(np.float32)
        labels, hit = y.astype(int), rng.choice(300, 90, replace=False)
        labels[hit] = 1 - labels[hit] if task.endswith("flipped") else rng.integers(0, 2, 90)
        ids = [f"{task}-{k:04d}" for k in range(800)]
        parquet(root / f"embeddings/{task}_train_0.3_300.parquet", "filename", ids[:300], "encoding", x[:300], label=labels[:300])
        parquet(root / f"embeddings/{task}_test_500.parquet", "filename", ids[300:], "encoding", x[300:], label=y[300:].astype(int))
        pd.DataFrame({"ImageID": ids[:300], "hv_label": y[:300].astype(int)}).to_csv(root / f"data/dataset_{task}_train.csv", index=False)
        wrong = labels[:300] != y[:300]
        orders["random"][task] = rng.permutation(300).tolist()
        orders["perfect"][task] = np.r_[np.flatnonzero(wrong), np.flatnonzero(~wrong)].tolist()
        orders["consecutive"][task] = list(range(300))
    return orders


def seconds_a_fit(root: Path, orders: dict) -> list[float]:
    """XGBoost at its defaults, which uses all cores."""
    from xgboost import XGBClassifier

    seconds = []
    for task in list(orders)[:2]:
        table = pq.read_table(root / f"embeddings/{task}_train_0.3_300.parquet")
        x, y = np.vstack(table.column("encoding").to_numpy()), table.column("label").to_numpy().copy()
        truth = pd.read_csv(root / f"data/dataset_{task}_train.csv").hv_label.to_numpy()
        for step, image in enumerate(orders[task]):
            y[image] = truth[image]
            if step % (N_STEPS // N_TIMED) == 0:
                began = time.perf_counter()
                XGBClassifier(eval_metric="logloss", use_label_encoder=False).fit(x, y)
                seconds.append(time.perf_counter() - began)
    return seconds[1:]  # the first one starts the threads


def main() -> None:
    what, *args = sys.argv[1:]
    if what == "make":
        benchmark, root = args[0], Path(args[1])
        make = {"speech-selection": make_speech, "vision-selection": make_vision, "data-acquisition": make_acquisition, "vision-debugging": make_debugging}
        for name, submission in make[benchmark](root, *map(int, args[2:])).items():
            (root / f"{name}.json").write_text(json.dumps(submission))
        return
    root, submission = Path(args[-2]), json.loads(Path(args[-1]).read_text())
    if what == "fits":
        print(json.dumps(seconds_a_fit(root, submission)))
    else:
        score = {"speech-selection": reference_speech, "vision-selection": reference_vision, "data-acquisition": reference_acquisition}
        print(json.dumps({"score": score[args[0]](root, submission)}))


if __name__ == "__main__":
    main()
