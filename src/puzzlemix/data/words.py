"""What WordNet's names stand for."""

from collections import Counter
from collections.abc import Sequence

from .archive import Tree, read_lines


def class_names(tree: Tree, words: str, classes: Sequence[str]) -> tuple[str, ...]:
    """Look names up in a file of words, if it is there: the first word of each, beside the name if others share it."""
    if words not in tree.names:
        return tuple(classes)
    pairs = (line.replace("\t", " ", 1).partition(" ") for line in read_lines(tree, words))
    known = {name: meaning.split(",")[0].strip() for name, _, meaning in pairs}
    found = [known.get(name, name) for name in classes]
    shared = {word for word, count in Counter(found).items() if count > 1}
    return tuple(f"{word} ({name})" if word in shared else word for word, name in zip(found, classes, strict=True))
