"""`rolellm judge`: replies, pairs and scenes judged, verdicts read back, and judges themselves checked."""

import typer

from rolellm_tui.cli.judge import chat as judge_chat
from rolellm_tui.cli.judge import check as judge_check
from rolellm_tui.cli.judge import pair as judge_pair
from rolellm_tui.cli.judge import scene as judge_scene
from rolellm_tui.cli.judge import show as judge_show

app = typer.Typer(
    name="judge",
    help="Judge chats, two systems or scenes, and check judges.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("chat")(judge_chat.chat)
app.command("pair")(judge_pair.pair)
app.command("scene")(judge_scene.scene)
app.command("show")(judge_show.show)
app.command("check")(judge_check.check)
