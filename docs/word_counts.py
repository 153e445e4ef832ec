"""Count anew how many texts of the bundled cast have each word: rolellm_agents/recall/word_counts.json.

Run it after the cast has changed much, and raise `lexical.VERSION` then, since all vectors change:

    python docs/word_counts.py
"""

import json
from collections import Counter
from pathlib import Path

from rolellm_agents.persona import list_personas
from rolellm_agents.recall.passages import demonstrations_of, knowledge_of
from rolellm_agents.text.language import Language
from rolellm_agents.text.words import words_of

FILE = Path(__file__).parents[1] / "rolellm_agents" / "recall" / "word_counts.json"
FEWEST = 2
"""A word that occurs in only one text is as rare as an unknown word."""


def count(language: Language) -> dict[str, object]:
    bundled = [found.persona for found in list_personas().found if found.origin == "bundled"]
    texts = [
        passage.text
        for persona in bundled
        if persona.language == language
        for passage in (*demonstrations_of(persona), *knowledge_of(persona))
    ]
    having = Counter(word for text in texts for word in set(words_of(text, language)))
    kept = {word: times for word, times in sorted(having.items()) if times >= FEWEST}
    return {"documents": len(texts), "having": kept}


if __name__ == "__main__":
    counts = {"en": count("en"), "zh": count("zh")}
    FILE.write_text(json.dumps(counts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
