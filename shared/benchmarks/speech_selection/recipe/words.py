"""What is said, in which language, by which voices, how often."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    """One language of the benchmark: its words, its voices and the size of its pools."""

    code: str
    voices: tuple[str, ...]  # espeak-ng voices; a variant such as `+f3` is added to each clip's
    n_train: dict[str, int]  # keyword -> clips in the training pool, in the paper's proportions
    n_eval: dict[str, int]  # keyword -> clips in the test set
    n_per_nontarget: int  # clips of each nontarget word, in each set it belongs to
    known: tuple[str, ...]  # nontarget words of both sets; some sound like a keyword
    unknown: tuple[str, ...]  # nontarget words that only the test set has
    neighbours: tuple[str, ...]  # short words that stand next to others in a sentence


LANGUAGES = (
    Language(
        code="en",
        voices=(
            "en-gb", "en-us", "en-gb-scotland", "en-gb-x-rp", "en-gb-x-gbclan", "en-gb-x-gbcwmd", "en-029",
            "en-us-nyc",
        ),
        n_train={"episode": 29, "fifty": 41, "job": 60, "restaurant": 33, "route": 32},
        n_eval={"episode": 16, "fifty": 20, "job": 24, "restaurant": 18, "route": 18},
        n_per_nontarget=6,
        known=(
            "about", "because", "children", "company", "fifteen", "house", "morning", "people", "restore",
            "river", "shop", "sixty",
        ),
        unknown=(
            "answer", "bottle", "captain", "doctor", "evening", "fifth", "forty", "garden", "history",
            "island", "jump", "kitchen", "language", "market", "number", "orange", "problem", "question",
            "report", "rude", "school", "teacher", "village", "window",
        ),
        neighbours=("to", "the", "of", "and", "is", "for", "in", "that", "was", "they"),
    ),
    Language(
        code="pt",
        voices=("pt-pt", "pt-br"),
        n_train={"andando": 25, "camisa": 27, "grupo": 29, "pessoas": 50, "tempo": 29},
        n_eval={"andando": 15, "camisa": 16, "grupo": 16, "pessoas": 22, "tempo": 16},
        n_per_nontarget=5,
        known=(
            "agora", "cidade", "falando", "homem", "livro", "mundo", "noite", "porta", "templo", "trabalho",
            "vida", "você",
        ),
        unknown=(
            "água", "amigo", "banco", "caminho", "campo", "carro", "casa", "coisa", "comida", "dinheiro",
            "escola", "estrada", "fogo", "governo", "história", "irmão", "janela", "mulher", "música",
            "passeio", "semana", "tarde", "vermelho", "verde",
        ),
        neighbours=("de", "que", "para", "com", "uma", "os", "em", "muito", "não", "se"),
    ),
    Language(
        code="id",
        voices=("id",),
        n_train={"bahasa": 25, "belajar": 22, "karena": 32, "kemarin": 20, "sangat": 28},
        n_eval={"bahasa": 16, "belajar": 14, "karena": 14, "kemarin": 18, "sangat": 17},
        n_per_nontarget=4,
        known=(
            "anak", "bekerja", "berjalan", "besok", "buku", "hari", "kami", "makan", "orang", "rumah", "sama",
            "sekarang",
        ),
        unknown=(
            "air", "bagus", "bahaya", "baru", "benar", "berbicara", "bermain", "cepat", "dalam", "dengan",
            "guru", "hujan", "kalau", "kecil", "kota", "malam", "mobil", "pagi", "pintu", "sekolah", "surat",
            "teman", "tidur", "tangan",
        ),
        neighbours=("yang", "dan", "di", "ini", "itu", "untuk", "ke", "ada", "saya", "pada"),
    ),
)

VARIANTS = (
    "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "f1", "f2", "f3", "f4", "f5", "croak", "whisper",
    "whisperf", "klatt2", "Andrea", "Annie", "Denis", "Hugo", "Lee", "Michael", "anika", "aunty", "belinda",
    "grandma", "grandpa", "linda", "norbert", "quincy", "sandro", "steph", "travis",
)

# What an automatic cut of a recording into words gets wrong, and how often in an unverified pool.
DEFECTS = {
    "none": 0.66,
    "start_cut": 0.08,
    "end_cut": 0.10,
    "neighbour_before": 0.05,
    "neighbour_after": 0.06,
    "wrong_word": 0.05,
}
