"""Makes the rounds of `adversarial-text-models`, in the form in which `dataperf dynamic export` writes them, from a few templates.

Usage: make.py DIRECTORY [--seed N]

The texts are this recipe's own and nobody wrote them to fool a model: they say how the benchmark behaves, not how good a program is. Each
round has more texts that deny something than the one before.
"""

import argparse
import json
import random
from pathlib import Path

N_ROUNDS, N_OF_TASK = 3, {"test": 12, "dev": 8}
N_TEXTS_OF_WRITER = 2
PEOPLE = ["John", "Mary", "Emily", "Ahmed", "Peter", "Fatima", "James", "Anna"]
PLACES = ["Lima", "Oslo", "Cairo", "Quebec", "Hanoi", "Dakar"]
THINGS = ["boat", "lantern", "piano", "letter", "carpet", "bicycle"]
PRAISES, BLAMES = ["wonderful", "charming", "excellent"], ["terrible", "boring", "awful"]
GROUPS = ["Germans", "Mexicans", "Christians", "women", "men"]


def nli(draw, denies):
    person, thing, place = draw.choice(PEOPLE), draw.choice(THINGS), draw.choice(PLACES)
    context = f"{person} sold the old {thing} in {place} before the winter began."
    kind = draw.choice(["entailment", "neutral", "contradiction"])
    if kind == "neutral":
        return context, f"The {thing} was expensive for {person}.", {"label": kind}
    # what denies that it was kept says that it was sold
    said = {
        ("entailment", False): f"{person} sold the {thing}.",
        ("entailment", True): f"It is not true that {person} kept the {thing}.",
        ("contradiction", False): f"{person} kept the {thing} until spring.",
        ("contradiction", True): f"{person} never sold the {thing} in {place}.",
    }
    return context, said[kind, denies], {"label": kind}


def qa(draw, denies):
    buyer, seller = draw.sample(PEOPLE, 2)
    thing, year = draw.choice(THINGS), draw.randrange(1900, 2000)
    context = f"In {year} {seller} offered the {thing} to everybody, and {buyer} bought it without a question."
    question, answer = (f"Who did not offer the {thing} but bought it?", buyer) if denies else (f"When was the {thing} offered?", str(year))
    return context, question, {"answer": {"start": context.index(answer), "text": answer}}


def sentiment(draw, denies):
    person, thing = draw.choice(PEOPLE), draw.choice(THINGS)
    kind = draw.choice(["positive", "neutral", "negative"])
    if kind == "neutral":
        return None, f"{person} wrote about the {thing} yesterday.", {"label": kind}
    word = draw.choice(PRAISES if (kind == "positive") != denies else BLAMES)
    text = f"Nobody who met {person} would call the {thing} {word}." if denies else f"The {thing} that {person} made is {word}."
    return None, text, {"label": kind}


def hate_speech(draw, denies):
    group, insult = draw.choice(GROUPS), draw.choice(["inferior", "worthless"])
    if denies:
        return None, f"Only fools believe that {group} are {insult} people.", {"label": "not-hateful"}
    if draw.random() < 0.5:
        return None, f"All {group} are {insult} people.", {"label": "hateful"}
    return None, f"Many {group} visited the museum yesterday.", {"label": "not-hateful"}


TASKS = {"nli": nli, "qa": qa, "sentiment": sentiment, "hate-speech": hate_speech}


def rows(draw, round_number, part):
    n_writers = len(TASKS) * N_OF_TASK[part] // N_TEXTS_OF_WRITER
    for place, (task, make) in enumerate(TASKS.items()):
        for number in range(N_OF_TASK[part]):
            writer = (place * N_OF_TASK[part] + number) % n_writers + 1
            context, text, right = make(draw, draw.random() < 0.25 * round_number)
            row = {"id": f"{draw.getrandbits(128):032x}", "round": f"round-{round_number}", "task": task}
            if context is not None:
                row |= {"context_id": f"{task}-{number}", "context": context}
            row |= {"text": text, **right, "annotator": f"{part}-writer-{writer}", "is_fooling": True, "is_verified": True, "split": part}
            yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for number in range(1, N_ROUNDS + 1):
        folder = arguments.directory / f"round-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        for part in N_OF_TASK:
            draw = random.Random(f"{arguments.seed} {number} {part}")
            lines = [json.dumps(row, ensure_ascii=False) for row in rows(draw, number, part)]
            (folder / f"{part}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rounds = "".join(f"  round-{number}: round-{number}\n" for number in range(1, N_ROUNDS + 1))
    (arguments.directory / "models.yaml").write_text(f"title: Texts that deny\npart: test\nrounds:\n{rounds}", encoding="utf-8")


if __name__ == "__main__":
    main()
