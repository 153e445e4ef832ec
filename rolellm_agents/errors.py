"""The errors a person can act on: each message is one sentence that names the thing and the next step."""


class RoleLLMError(Exception):
    """Something the user can put right; the command line prints it and exits with code 2."""


class PersonaError(RoleLLMError):
    """A persona that does not exist, or a persona file that cannot be used."""


class ModelError(RoleLLMError):
    """A model that cannot be found, loaded or reached, or a request it cannot take."""


class SettingsError(RoleLLMError):
    """A settings file or environment variable with a key or value we do not know."""


class StorageError(RoleLLMError):
    """A folder or database that cannot be read or written."""


class MessageError(RoleLLMError):
    """A message that cannot be sent, or one that does not exist."""


class PackError(RoleLLMError):
    """A pack that cannot be read, installed or removed."""


class ScriptError(RoleLLMError):
    """A script that cannot be read, or in which a role cannot be found."""


class RoleBenchError(RoleLLMError):
    """A file of samples that cannot be read or written, or a data set that cannot be made of it."""


class ChatFileError(RoleLLMError):
    """A conversation file that cannot be read or written."""


class SceneError(RoleLLMError):
    """A scene that does not exist, or a scene file that cannot be used."""


class PluginError(RoleLLMError):
    """An entry point of another package that cannot be used."""
