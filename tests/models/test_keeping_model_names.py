import pytest
from helpers.hypotheses import examples
from helpers.user_files import write_models
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import SettingsError
from rolellm_agents.models.names import NamedModel, check_name, keep_name, named_models

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,20}", fullmatch=True)
SPECS = st.text(min_size=1).map(lambda text: f"llamacpp:{text}")


@examples(0.3)
@given(st.dictionaries(NAMES, SPECS, max_size=4))
def test_whatever_name_is_kept_is_read_again(wanted: dict[str, str]) -> None:
    user_paths().models_file.unlink(missing_ok=True)
    for name, spec in wanted.items():
        keep_name(name, spec, replace=False)
    assert {name: model.spec for name, model in named_models().items()} == wanted


def test_what_else_stands_in_the_file_stays() -> None:
    text = '# mine\n[models.workstation]  # at home\nspec = "openai:qwen"\ntemperature = 0.8\n'
    file = write_models(text)
    keep_name("rolesmol", "llamacpp:smollm2+/a.gguf", replace=False)
    assert file.read_text(encoding="utf-8").startswith(text)
    assert set(named_models()) == {"workstation", "rolesmol"}


def test_a_name_that_is_taken_is_replaced_only_when_that_is_wanted() -> None:
    write_models('[models.mine]\nspec = "scripted:One."\nstrategy = "zero-shot"\ntemperature = 0.8\n')
    with pytest.raises(SettingsError, match=r"There is a model mine in .* already"):
        keep_name("mine", "scripted:Two.", replace=False)
    assert named_models()["mine"].spec == "scripted:One."
    keep_name("mine", "scripted:Two.", strategy="system", replace=True)
    assert named_models()["mine"] == NamedModel("mine", "scripted:Two.", "system", {"temperature": 0.8})
    keep_name("mine", "scripted:Three.", replace=True)
    assert named_models()["mine"] == NamedModel("mine", "scripted:Three.", None, {"temperature": 0.8})


@pytest.mark.parametrize("name", ["", "a b", "a:b", "-a", "../a", "孙", "a" * 61, "a\n"])
def test_a_name_that_cannot_be_typed_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="is not a valid model name"):
        check_name(name, replace=True)


def test_a_file_that_is_broken_is_not_written_over() -> None:
    file = write_models("[models")
    with pytest.raises(SettingsError, match="is not valid TOML"):
        keep_name("mine", "scripted:One.", replace=True)
    assert file.read_text(encoding="utf-8") == "[models"
