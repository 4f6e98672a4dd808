# %% [markdown]
# # Write examples
# Makes a valid file of examples for one task. They fool nobody yet: write texts of your own, and say what is right about them.

# %%
import json

LEADERBOARD = "nli"
OUT = "my-examples.jsonl"
N_EXAMPLES = 3

with open("public/rules.json", encoding="utf-8") as file:
    rules = json.load(file)
with open("public/contexts.jsonl", encoding="utf-8") as file:
    contexts = [json.loads(line) for line in file if line.strip()]
task = rules["tasks"][LEADERBOARD]
own = [context for context in contexts if context["task"] == LEADERBOARD]
print(f"{LEADERBOARD}: {len(own)} contexts; labels: {', '.join(task['labels']) or 'none, an answer is words of the context'}")

# %% [markdown]
# ## The texts
# In English, if the task takes it; otherwise the beginnings of contexts, which are in a language that it takes.

# %%
TEXTS = {
    "sentiment": [("I would not call it a failure.", "positive"), ("Nobody asked for more of it.", "negative")],
    "hate-speech": [("Everybody is welcome at this table.", "not-hateful"), ("They came late because of the rain.", "not-hateful")],
}
LABELS = {"nli": "entailment", "sentiment": "neutral", "hate-speech": "not-hateful"}
takes_english = not task["languages"] or "eng" in task["languages"]


def sentence(text):
    """The first sentence of a text that is long enough, and no longer than a text may be."""
    end = text.find(". ", rules["min_chars"] - 1)
    return (text if end < 0 else text[: end + 1])[: rules["max_chars"]].strip()


def example(context):
    """A statement that its context makes true, or a question whose answer is the first word of its context."""
    line = {"task": LEADERBOARD, "context_id": context["id"]}
    if LEADERBOARD == "qa":
        word = context["text"].split()[0]
        question = "Which word does the text begin with?" if takes_english else sentence(context["text"])
        return {**line, "text": question, "answer": {"start": context["text"].index(word), "text": word}}
    return {**line, "text": sentence(context["text"]), "label": LABELS[LEADERBOARD]}


def fitting(lines):
    """The lines whose texts are neither too short nor too long."""
    return [line for line in lines if rules["min_chars"] <= len(line["text"]) <= rules["max_chars"]]


if task["needs_context"]:
    lines = fitting(example(context) for context in own)[:N_EXAMPLES]
else:
    texts = TEXTS[LEADERBOARD] if takes_english else []
    lines = fitting({"task": LEADERBOARD, "text": text, "label": label} for text, label in texts)
    beginnings = ({"task": LEADERBOARD, "text": sentence(context["text"]), "label": LABELS[LEADERBOARD]} for context in contexts)
    lines = lines or fitting(beginnings)[:1]
if not lines:
    raise SystemExit(f"write texts of your own, of {rules['min_chars']} to {rules['max_chars']} characters, in {', '.join(task['languages']) or 'any language'}")

# %% [markdown]
# ## The file

# %%
with open(OUT, "w", encoding="utf-8") as file:
    for line in lines:
        print(json.dumps(line, ensure_ascii=False), file=file)
print(f"wrote {OUT}: dataperf validate adversarial-text --dataset . --leaderboard {LEADERBOARD} {OUT}")
