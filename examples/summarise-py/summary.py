"""Which sentences of a text say most: those whose words are frequent in it. No model, no word list of a language."""

import re
from collections import Counter

_END = re.compile(r"(?<=[.!?…])[\"')\]»”]*\s+(?=[\"'(\[«„“]?[^\W\d_a-z])|\n\s*\n")
_WORD = re.compile(r"[^\W\d_]{4,}")


def sentences(text: str) -> list[str]:
    """The sentences of a text, trimmed; a blank line ends one too."""
    return [sentence for part in _END.split(text) if (sentence := " ".join(part.split()))]


def summarise(text: str, count: int) -> tuple[list[str], int]:
    """The sentences that say most, in their order, and how many there were."""
    every = sentences(text)
    return [every[place] for place in sorted(_ranked(every)[:count])], len(every)


def shorten(text: str, longest: int) -> str:
    """A text of at most so many characters, by leaving out the sentences that say least, with a note of it."""
    if len(text) <= longest:
        return text
    every = sentences(text)
    note = " […]"
    room, kept = longest - len(note), []
    for place in _ranked(every):
        if len(every[place]) + 1 <= room:
            kept.append(place)
            room -= len(every[place]) + 1
    if not kept:
        return text[: longest - len(note)] + note
    return " ".join(every[place] for place in sorted(kept)) + note


def _ranked(every: list[str]) -> list[int]:
    """Their places, the ones that say most first; of equals, the earlier."""
    words = [_WORD.findall(sentence.lower()) for sentence in every]
    weights = Counter(word for sentence in words for word in set(sentence))

    def weight(place: int) -> float:
        own = set(words[place])
        # A word that stands in one sentence says nothing of the rest.
        shared = sum(weights[word] - 1 for word in own)
        return shared / (len(own) + 4)

    return sorted(range(len(every)), key=lambda place: (-weight(place), place))
