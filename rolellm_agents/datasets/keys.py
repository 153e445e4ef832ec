"""Keys by which questions and roles count as equal."""

import re
import unicodedata
from hashlib import blake2b

_NO_LETTER = re.compile(r"[\W_]+")


def question_key(question: str) -> str:
    """A question with single spaces, since the published files differ in their white space."""
    return " ".join(question.split())


def role_key(name: str) -> str:
    """The letters and digits of a name: `Dr. Frank-N-Furter` and `Dr Frank N Furter` are one role."""
    letters = _NO_LETTER.sub("", unicodedata.normalize("NFKC", name)).casefold()
    return letters or name.strip()


def digest(*texts: str) -> bytes:
    """A digest of 16 bytes of several texts in order, which takes less memory than the texts."""
    held = blake2b(digest_size=16)
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        held.update(len(content).to_bytes(8, "big"))
        held.update(content)
    return held.digest()
