"""Message kinds as a user would write them: one for each answer to who perceives it."""

from rolellm_agents.scene.message_kinds import MessageKind

SIGN = MessageKind(
    name="sign",
    perceived_by="addressees",
    label={"en": "signs to {to}", "zh": "对{to}打手语"},
    mark=r"sign(?:s|ing|ed)?|打手语",
    instruction={
        "en": "To sign, begin with (signs to NAME).",
        "zh": "要打手语，就以（对某人打手语）开头。",
    },
)
PRAY = MessageKind(
    name="pray", perceived_by="speaker", label={"en": "prays", "zh": "默祷"}, mark=r"pray(?:s|ing|ed)?|默祷"
)
SHOUT = MessageKind(
    name="shout",
    label={"en": "shouts", "zh": "大喊"},
    mark=r"shout(?:s|ing|ed)?|大喊",
    shown={"en": "{name} (SHOUTING): {text}", "zh": "{name}（大喊）：{text}"},
    commands=("shout", "喊"),
)
OWN_KINDS = (SIGN, PRAY, SHOUT)
