"""Upload files to a repository of the Hugging Face Hub (package huggingface_hub, extra `train`)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from rolellm_agents.errors import StorageError

HubKind = Literal["dataset", "model"]


def push_to_hub(
    repository: str, kind: HubKind, files: Mapping[str, Path | str], *, message: str, private: bool
) -> str:
    """Upload files in one commit; the repository is created if it does not exist.

    Args:
        repository: the owner and the name, such as `ada/lamp-talk`.
        kind: the kind of the repository.
        files: by the path in the repository, a file on disk or a text.
        message: the commit's message.
        private: whether a new repository is private.

    Returns:
        The address of the repository.

    Raises:
        StorageError: huggingface_hub is not installed, nobody is logged in, the hub refuses the upload, or
            cannot be reached.
    """
    try:
        from huggingface_hub import CommitOperationAdd, HfApi, get_token
        from huggingface_hub.errors import HFValidationError
    except ImportError as error:
        raise StorageError(
            "The hub needs huggingface_hub, which is not installed; “pip install 'rolellm-agents[train]'” "
            "installs it."
        ) from error
    import httpx

    if get_token() is None:
        raise StorageError(
            "Nobody is logged in at the hub; run “hf auth login”, or set HF_TOKEN to a token that may "
            "write."
        )
    api = HfApi()
    operations = [
        CommitOperationAdd(name, content.encode() if isinstance(content, str) else content)
        for name, content in files.items()
    ]
    try:
        where = api.create_repo(repository, repo_type=kind, private=private, exist_ok=True)
        api.create_commit(repository, operations, commit_message=message, repo_type=kind)
    except HFValidationError as error:
        raise StorageError(f"{repository!r} is not the name of a repository; use OWNER/NAME.") from error
    except (httpx.HTTPError, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise StorageError(f"The hub did not take {repository}: {reason}") from error
    return str(where)
