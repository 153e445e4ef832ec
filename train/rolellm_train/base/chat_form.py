"""How a tokenizer and a chat template begin a text and end an answer."""

from collections.abc import Callable
from typing import Any

from rolellm_agents.models.llamacpp.template import ChatTemplate
from rolellm_train.errors import TrainingError

_ANSWER = "Yes"


def marks_of(tokenizer: Any) -> Callable[[str], bool]:
    """A function that returns whether a text is a single token, as `usual_template` requires."""

    def is_mark(text: str) -> bool:
        return len(tokenizer.encode(text, add_special_tokens=False)) == 1

    return is_mark


def bos_of(tokenizer: Any) -> int | None:
    """The id of the token with which the tokenizer begins each text, or None if it adds none.

    llama.cpp adds the same token, because converters write the tokenizer's setting to the GGUF file.
    """
    bos: int | None = tokenizer.bos_token_id
    return bos if bos is not None and tokenizer("a")["input_ids"][:1] == [bos] else None


def separators_of(tokenizer: Any) -> tuple[str, ...]:
    """Special tokens around which llama.cpp tokenizes texts separately, and transformers does not.

    SentencePiece's vocabularies put a space before a text. llama.cpp puts one before each text between
    special tokens as well, tokenizers of transformers 5 only at the beginning.

    Returns:
        All special tokens, the longest first; none if both tokenize alike.
    """
    eos = tokenizer.eos_token
    if not eos:
        return ()
    ids: list[int] = tokenizer.encode(f"a{eos}a", add_special_tokens=False)
    before, after = ids[: len(ids) // 2], ids[len(ids) // 2 + 1 :]
    if before == after:
        return ()
    special = {str(token) for token in tokenizer.added_tokens_decoder.values() if token.special}
    return tuple(sorted({*special, *tokenizer.all_special_tokens}, key=len, reverse=True))


def answer_end(tokenizer: Any, template: ChatTemplate) -> int:
    """The id of the token that the template puts after an answer; EOS if it puts nothing there.

    Raises:
        TrainingError: it is not a single token of the vocabulary, so a model could not learn to stop.
    """
    question = [{"role": "user", "content": "a"}]
    prefix = template.render(question)
    complete = template.render([*question, {"role": "assistant", "content": _ANSWER}], answer_follows=False)
    end = complete.removeprefix(prefix).rpartition(_ANSWER)[2].strip()
    if not end:
        return int(tokenizer.eos_token_id)
    first: int = tokenizer.encode(end, add_special_tokens=False)[0]
    # The token must stand for a mark as a whole: the first piece of a mark that the vocabulary does not
    # have is a space or a “<”, which ends nothing.
    if first not in {tokenizer.eos_token_id, *tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}:
        raise TrainingError(
            f"The chat template ends an answer with “{end}”, which is no token of this base model, so it "
            "could not learn to stop; set “chat_template: vicuna” in the recipe, which ends with EOS."
        )
    return first
