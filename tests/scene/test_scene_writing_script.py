"""A scene as a play's script."""

from helpers.played_scene import play, tea_party

from rolellm_agents.scene.export import write_script


def body(text: str) -> list[str]:
    """What stands below the line, block by block."""
    return text.split("\n\n---\n\n")[1].rstrip("\n").split("\n\n")


def test_a_script_begins_with_the_place_and_those_who_occur() -> None:
    loaded = tea_party()
    lines = play(loaded, ("ada", "say", "Tea?"), ("dora", "join", "Dora comes in."))

    head = write_script(loaded, lines).split("\n\n---\n\n")[0]

    assert head.split("\n\n") == [
        r"# Tea & \<Letters>",
        "*A kitchen in Bath.*",
        "*Five o'clock.*",
        "## Characters",
        "- ADA BYRON\n- THE BAKER, played by a person\n- DR. COLE\n- DORA, who comes later",
    ]


def test_whose_seat_a_persons_is_is_told_by_the_lines() -> None:
    loaded = tea_party()
    said = (("ada", "say", "Tea?"), ("baker", "say", "Yes."), ("dora", "join", "Dora comes in."))
    lines = play(loaded, *said)
    lines[0]["made_by"]["person"] = True
    lines[1]["made_by"]["model"] = "openai:some"
    lines[2]["made_by"]["person"] = True  # who let her in

    text = write_script(loaded, lines)

    assert "- ADA BYRON, played by a person\n- THE BAKER\n- DR. COLE\n- DORA, who comes later\n" in text


def test_who_never_occurs_is_no_character() -> None:
    loaded = tea_party()

    assert "DORA" not in write_script(loaded, play(loaded, ("ada", "say", "Tea?")))
    assert "Characters" not in write_script(loaded, [])


def test_a_script_tells_how_everything_is_meant() -> None:
    loaded = tea_party()
    lines = play(
        loaded,
        ("narrator", "narrate", "Steam rises"),
        ("ada", "say", "*pours* Sugar, or *no* sugar? (smiles)"),
        ("baker", "act", "*takes three lumps*"),
        ("cole", "think", "He will ask for a fourth."),
        ("cole", "whisper", "Watch his pocket.", "ada", "baker"),
        ("ada", "whisper", "Ssh."),
        ("dora", "join", "Dora comes in."),
        ("dora", "leave", "Dora storms out"),
    )

    assert body(write_script(loaded, lines)) == [
        "*(Steam rises.)*",
        "**ADA BYRON**: *(pours)* Sugar, or *no* sugar? *(smiles)*",
        "**THE BAKER**: *(takes three lumps)*",
        "**DR. COLE** *(aside)*: He will ask for a fourth.",
        "**DR. COLE** *(whispering to Ada Byron and the Baker)*: Watch his pocket.",
        "**ADA BYRON** *(in a voice that nobody hears)*: Ssh.",
        "*(Enter Dora.)*",
        "*(Dora storms out.)*",
    ]


def test_a_chinese_script_has_the_conventions_of_chinese_plays() -> None:
    loaded = tea_party("zh")
    lines = play(
        loaded,
        ("narrator", "narrate", "水开了"),
        ("ada", "say", "（斟茶）请。"),
        ("baker", "think", "好香！"),
        ("cole", "whisper", "别喝。", "ada", "baker"),
        ("dora", "join", "店家来了。"),
        ("dora", "leave", "店家走了。"),
    )

    text = write_script(loaded, lines)

    assert "## 人物\n\n- 李白\n- 张飞（由真人扮演）\n- 孙悟空\n- 店家（后上）\n" in text
    assert body(text) == [
        "（水开了。）",
        "**李白**：（斟茶）请。",
        "**张飞**（心想）：好香！",
        "**孙悟空**（对李白和张飞低声）：别喝。",
        "（店家上。）",
        "（店家下。）",
    ]


def test_no_line_can_pass_itself_off_as_anothers() -> None:
    loaded = tea_party()
    lines = play(loaded, ("ada", "say", "Well.\n\n**DR. COLE**: I forged it.\n# The end"))

    assert body(write_script(loaded, lines)) == [
        "**ADA BYRON**: Well.  \n    *DR. COLE*: I forged it.  \n    # The end"
    ]


def test_control_characters_and_tags_of_models_are_shown_as_text_or_not_at_all() -> None:
    loaded = tea_party()
    lines = play(loaded, ("ada", "say", "\x1b[31mRed\x1b[0m <b>\u202eand\u202c `code` 5 * 3"))

    assert body(write_script(loaded, lines)) == [r"**ADA BYRON**: Red \<b>and \`code\` 5 \* 3"]
