"""Prompts of conversations, scenes and trainings: the messages, and what a chat template makes of them."""

from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from golden.program import INPUTS, Files, as_json, input_text, shown, write_cast
from rolellm_agents.models.llamacpp.template import ChatTemplate, turns_of
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.prompting.strategies import STRATEGIES
from rolellm_agents.recall import RecallOptions
from rolellm_agents.scene import LoadedScene, SceneLine, load_scene
from rolellm_agents.scene.events import ScheduledEvent, event_line
from rolellm_agents.scene.line import Summary
from rolellm_agents.scene.view import history_for, instruction_for, known_names, render_line
from rolellm_train.data.conversations import conversations_of
from rolellm_train.data.encoding import Encoder
from rolellm_train.data.rows import Prompts, TrainingRow, cast_rows

_END = "<|im_end|>"
_ASKED = {
    "holmes": (
        "Good evening, Mr. Holmes. How do you do it?",
        "And the violin?",
        "Who is this Professor Moriarty, and what of the cocaine?",
    ),
    "libai": ("今晚喝什么？", "月亮呢？", "你怎么看长安和黄河的水？"),
    "ada": (
        "Is the lamp lit? I see no light.",
        "Rings the bell in fog?",
        "Tell me of the storm, and who you are.",
    ),
}
_NOTE = "It is late, {{user}}, and {{char}} is tired of questions."
_YOU = "Captain Flint"
_ABOUT_YOU = "An old sailor with a limp, kind to cabin boys."


def strategies(place: Path) -> Files:
    """Every persona under every strategy: messages and rendered prompt of a third line."""
    write_cast()
    template = _template()
    files: Files = {}
    for who, asked in _ASKED.items():
        persona = with_macros(load_persona(who), _YOU)
        for strategy in STRATEGIES:
            messages = _composed(persona, strategy, asked)
            rendered = template.render(turns_of(messages))
            files[f"{who}-{strategy}.json"] = as_json(shown(messages))
            files[f"{who}-{strategy}.txt"] = rendered
    return files


def _composed(persona: Persona, strategy: str, asked: tuple[str, ...]) -> list[BaseMessage]:
    prompting = Prompting(
        persona, strategy, user=_YOU, about_user=_ABOUT_YOU, recall=RecallOptions(method="bm25", k=3)
    )
    history: list[BaseMessage] = []
    for number, line in enumerate(asked[:-1], 1):
        history += (HumanMessage(line), AIMessage(f"{number}. {line[::-1]}"))
    looked_up = prompting.look_up(history, asked[-1], {}, seed=5)
    return prompting.compose(history, looked_up.recalled, asked[-1], note=_NOTE, scene="It snows.")


def training(place: Path) -> Files:
    """Rows as RoCIT learns them: the whole text, with what is learned between brackets."""
    write_cast()
    prompts, files = Prompts(), {}
    for who in _ASKED:
        persona = load_persona(who)
        rows = [*cast_rows([persona])][:3]
        rows.append(TrainingRow(persona, "What do you keep?", "What I keep I keep.", "general"))
        (whole, *_) = sorted(conversations_of(rows, 1.0, seed=3), key=len, reverse=True)
        turns = [(prompts.of(row, whole[:before]), row.answer) for before, row in enumerate(whole)]
        encoded = Encoder(_Letters(), _template(), ord(_END), bos=None).encode(who, turns)
        letters = [chr(one) for one in encoded.ids]
        for answer in encoded.answers:
            letters[answer.start] = "⟦" + letters[answer.start]
            letters[answer.stop - 1] += "⟧"
        files[f"{who}-training.txt"] = "".join(letters).replace(_END, "<|im_end|>")
    return files


_END = "\ue000"


class _Letters:
    """A tokenizer whose tokens are letters and the end of a turn."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return [ord(letter) for letter in text.replace("<|im_end|>", _END)]


def scenes(place: Path) -> Files:
    """What each seat of a scene is told, in English and Chinese, with lines of every kind."""
    write_cast()
    return {
        f"scene-{name}.json": as_json(_views(load_scene(INPUTS / f"{name}.yaml"), said))
        for name, said in _SAID.items()
    }


_SAID: dict[str, tuple[tuple[str, ...], ...]] = {
    "market": (
        ("narrator", "narrate", "A cart has turned over by the well."),
        ("ben", "say", "Pears!"),
        ("holmes", "whisper", "Not so loud.", "ben"),
        ("ben", "think", "He knows of the goat."),
        ("ben", "act", "hides the scales"),
        ("cy", "join", "Cy comes in."),
        ("cy", "say", "Am I late?"),
        ("holmes", "say", "By eleven minutes."),
        ("holmes", "act", "looks at the scales"),
        ("ben", "leave", "Ben leaves."),
        ("cy", "whisper", "Who was that?", "holmes"),
        ("holmes", "think", "A thief of goats."),
    ),
    "teahouse": (
        ("narrator", "narrate", "店家把坛子搁在桌子当中。"),
        ("libai", "say", "快哉！"),
        ("zhang", "whisper", "小声些。", "libai"),
        ("zhang", "think", "俺不能喝。"),
        ("dian", "act", "拍了拍泥封"),
        ("libai", "say", "且饮一杯。"),
        ("dian", "whisper", "坛子空了。", "libai", "zhang"),
        ("zhang", "say", "酒有什么错？"),
    ),
}


def played(loaded: LoadedScene) -> list[SceneLine]:
    """The lines of one of the inputs' scenes."""
    lines: list[SceneLine] = []
    for speaker, kind, text, *to in _SAID[loaded.scene.id]:
        happening = ScheduledEvent(speaker, kind, tuple(to), text, {})
        lines.append(event_line(loaded, lines, happening))
    return lines


def _views(loaded: LoadedScene, said: tuple[tuple[str, ...], ...]) -> object:
    lines = played(loaded)
    summary = Summary(text="…", lines=2)
    return {
        "outside": [render_line(loaded, line) for line in lines],
        "lines": [{key: line[key] for key in ("speaker", "kind", "audience", "text")} for line in lines],
        **{
            seat: {
                "instruction": instruction_for(loaded, seat, lines).splitlines(),
                "history": shown(history_for(loaded, seat, lines)),
                "with summary": shown(history_for(loaded, seat, lines, summary)),
                "knows": known_names(loaded, seat, lines),
            }
            for seat in loaded.seats
        },
    }


def _template() -> ChatTemplate:
    """The embedded model's, as its file has it."""
    return ChatTemplate(input_text("smollm2.jinja"), bos="<|im_start|>", eos=_END)
