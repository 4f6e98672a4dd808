"""Writes tokens.json: texts as the tokenizers library cuts them with a small vocabulary, in the form of all-MiniLM-L6-v2's.

    python3 -m venv v && v/bin/pip install tokenizers==0.23.3 && v/bin/python shared/minilm/tests/make_tokens.py [TEXTS OUT]
"""

import json
import random
import sys
from pathlib import Path

from tokenizers import Tokenizer

WORDS = """[PAD] [UNK] [CLS] [SEP] [MASK] horse ketchup lying in a an ##s ##ing ##ed ##er un ##able ##chup ket the of und straße strass ##e cafe
    over ##over resume naive i ##i b ##b c ##c e ##e o ##o u ##u n ##n ss ##ss 中 国 日 本 語 ка ##ка а ##а ב ##ב か ##か が ア 한 ##국 1 ##1 2 ##2 9 ##9
    ! ? . , - ' " ( ) [ ] { } : ; @ # $ % & * + = < > / \\ | ^ ` ~ _ … — « » “ ” 、 。 € ™ ² ½ ﬁ fi ##fi 😀 ##😀""".split()
TOKENIZER = {
    "version": "1.0", "truncation": None, "padding": None,
    "added_tokens": [{"id": i, "content": WORDS[i], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
                     for i in range(5)],
    "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
        "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
                 {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
        "special_tokens": {word: {"id": word, "ids": [WORDS.index(word)], "tokens": [word]} for word in ("[CLS]", "[SEP]")},
    },
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 20,
              "vocab": {word: i for i, word in enumerate(WORDS)}},
}
MOST = 16  # tokens
CHOSEN = [
    "", " ", "a horse lying in ketchup", "A HORSE, lying in Ketchup!", "horses unlying ketchuped", "Café cafe\u0301 CAFÉ naïve résumé", "Straße STRASSE ẞ",
    "horse[SEP]horse [CLS] [cls] [MASK][PAD]", "[SEP", "[[SEP]]", "中国日本語", "a中b", "한국 한국", "がか\u3099", "каКа", "ﬁ ﬁ²½™", "😀😀 a😀",
    "a\u200bb a\u00adb a\u0000b a\ufffdb", "a\u00a0b\u2003c\u3000e\u2028o\u0085u", "\t a\r\nb\x0bc\x0ce ", "ketchup" * 3, "a" * 20, "a" * 21, "b" * 20,
    "i" * 40, "İI\u0307ı", "ΑΣ Σας ὈΔΥΣΣΕΎΣ", "e\u0301\u0323\u0301 ệ", "— « » “ ” … 、 。", "¿¡§¶†‡•", "\u0f0b\u0e2f\u061f", "$€£ +=<>|~^`", "##s ##ing s",
    "a\u034fb\u180eb\u2060b", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\ue000 \U000f0000 \ufdd0 \u0378", "ב" * 3 + "\u05b0ב", "1 22 9½ 1,2.9", "o'n o’n",
]


def drawn(rng: random.Random) -> str:
    marks = [chr(c) for c in (*range(0x300, 0x370), 0x200b, 0x200d, 0xad, 0x3099, 0x5b0, 0xfe0f)]
    pools = [WORDS, WORDS, [" ", " ", "\t", "\u3000"], marks, None]
    parts = []
    for _ in range(rng.randrange(1, 14)):
        pool = rng.choice(pools)
        if pool is None:
            c = rng.choice([rng.randrange(0x20, 0x250), rng.randrange(0x20, 0x3000), rng.randrange(0x3000, 0xd800), rng.randrange(0xe000, 0x20000)])
            parts.append(chr(c))
        else:
            parts.append(rng.choice(pool).replace("##", ""))
    text = "".join(parts)
    return rng.choice([text, text.upper(), text.title()])


def main() -> None:
    tokenizer = Tokenizer.from_str(json.dumps(TOKENIZER))
    tokenizer.enable_truncation(MOST)
    rng = random.Random(5)
    n, out = (int(sys.argv[1]), Path(sys.argv[2])) if len(sys.argv) == 3 else (200, Path(__file__).with_name("tokens.json"))
    texts = CHOSEN + [drawn(rng) for _ in range(n)]
    cases = [[text, tokenizer.encode(text).ids] for text in texts]
    out.write_text(json.dumps({"tokenizer": TOKENIZER, "most": MOST, "cases": cases}) + "\n")


main()
