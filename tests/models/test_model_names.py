import json
import os

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import SettingsError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.names import NamedModel, named_models

# TOML's plain strings are JSON's, but for the raw DEL, which it wants escaped.
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x7f"))
VALUES = st.one_of(
    WORDS, st.integers(-(2**63), 2**63 - 1), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)
)


def write(content: bytes) -> None:
    file = user_paths().models_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def test_without_a_file_there_are_no_names() -> None:
    assert named_models() == {}


@pytest.mark.parametrize("content", [b"", b"# nothing yet\n", b"[others.x]\nspec = 3\n", b"[models]\n"])
def test_a_file_without_models_holds_no_names(content: bytes) -> None:
    write(content)
    assert named_models() == {}


def test_each_table_is_a_name_with_its_spec_and_options() -> None:
    write(
        b'[models.workstation]\nspec = "openai:qwen3-8b"\nbase_url = "http://127.0.0.1:8080/v1"\n'
        b'temperature = 0.8\n[models."little one"]\nspec = "llamacpp:smollm2"\nstrategy = "system"\n'
    )
    assert named_models() == {
        "workstation": NamedModel(
            "workstation",
            "openai:qwen3-8b",
            None,
            {"base_url": "http://127.0.0.1:8080/v1", "temperature": 0.8},
        ),
        "little one": NamedModel("little one", "llamacpp:smollm2", "system", {}),
    }


def test_the_file_is_read_anew_each_time() -> None:
    write(b'[models.mine]\nspec = "scripted:One."\n')
    assert get_model("mine").invoke("?").text == "One."
    write(b'[models.mine]\nspec = "scripted:Two."\n')
    assert get_model("mine").invoke("?").text == "Two."


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[models.w", "is not valid TOML: Expected ']'"),
        (b'[models.w]\nspec = "a:b"\nspec = "c:d"\n', "is not valid TOML: Cannot overwrite a value"),
        (b"\xff\xfe", "is not valid TOML: "),
        (b"models = 3\n", "must name its models as tables, as in [models.mine]."),
        (b"[[models]]\nspec = 'a:b'\n", "must name its models as tables, as in [models.mine]."),
        (b"[models]\nw = 3\n", '[models.w] needs a spec, as in spec = "openai:gpt-4o-mini".'),
        (b"[models.w]\ntemperature = 1\n", '[models.w] needs a spec, as in spec = "openai:gpt-4o-mini".'),
        (b"[models.w]\nspec = 3\n", '[models.w] needs a spec, as in spec = "openai:gpt-4o-mini".'),
        (
            b'[models.w]\nspec = "a:b"\nstrategy = 3\n',
            '[models.w] has no usable strategy; write one as in "system".',
        ),
        (b'[models.w]\nspec = "w"\n', '[models.w] needs a spec, as in spec = "openai:gpt-4o-mini".'),
        (
            b'[models.w]\nspec = "openai:m"\n[models.v]\n',
            '[models.v] needs a spec, as in spec = "openai:gpt-4o-mini".',
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_told_with_its_place(content: bytes, told: str) -> None:
    write(content)
    with pytest.raises(SettingsError) as raised:
        named_models()
    assert str(raised.value).startswith(str(user_paths().models_file))
    assert told in str(raised.value)
    with pytest.raises(SettingsError):
        get_model("w")


def test_a_folder_in_the_place_of_the_file_is_told() -> None:
    user_paths().models_file.mkdir(parents=True)
    with pytest.raises(SettingsError, match=r"models\.toml cannot be read: Is a directory\.$"):
        named_models()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_told() -> None:
    write(b"")
    user_paths().models_file.chmod(0)
    with pytest.raises(SettingsError, match=r"models\.toml cannot be read: Permission denied\.$"):
        named_models()


@examples(0.3)
@given(
    models=st.dictionaries(
        WORDS,
        st.dictionaries(WORDS.filter(lambda key: key not in ("spec", "strategy")), VALUES, max_size=4),
        max_size=3,
    )
)
def test_whatever_is_written_is_read(models: dict[str, dict[str, object]]) -> None:
    lines = []
    for name, options in models.items():
        lines += [f"[models.{toml(name)}]", 'spec = "scripted:Hello."']
        lines += [f"{toml(key)} = {toml(value)}" for key, value in options.items()]
    write("\n".join(lines).encode())
    assert named_models() == {
        name: NamedModel(name, "scripted:Hello.", None, options) for name, options in models.items()
    }


@given(
    content=st.one_of(
        st.binary(), st.text(st.sampled_from('[]{}.models"= \n\\u1x#,')).map(lambda text: text.encode())
    )
)
def test_whatever_the_file_holds_it_is_read_or_refused(content: bytes) -> None:
    write(content)
    try:
        told = str(sorted(named_models()))
    except SettingsError as error:
        told = str(error)
    assert told.startswith((str(user_paths().models_file), "["))
