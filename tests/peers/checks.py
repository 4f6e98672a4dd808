"""Comparisons that are counted, told one a line, and summed up at the end."""


class Checks:
    def __init__(self) -> None:
        self.failed, self.n = [], 0

    def __call__(self, what: str, holds: bool, told: object = "") -> None:
        self.n += 1
        print(f"{'agrees' if holds else 'DIFFERS':8} {what}{f': {told}' if told != '' else ''}")
        if not holds:
            self.failed.append(what)
