"""Errors that users can act on: each message is one sentence with the cause and the next step."""


class RoleLLMError(Exception):
    """Base of all errors that the user can fix; the command line prints them and exits with code 2."""


class PersonaError(RoleLLMError):
    """A persona that does not exist, or a persona file that cannot be used."""


class ModelError(RoleLLMError):
    """A model that cannot be found, loaded or reached, or a request that it does not accept."""


class ContextLengthError(ModelError):
    """A prompt that does not fit into the model's context."""


class AnswerFormatError(ModelError):
    """A format of answers, such as a JSON Schema, that cannot be prescribed."""


class SettingsError(RoleLLMError):
    """A settings file or environment variable with an unknown key or an invalid value."""


class StorageError(RoleLLMError):
    """A folder or database that cannot be read or written."""


class MessageError(RoleLLMError):
    """A message that cannot be sent or does not exist."""


class PackError(RoleLLMError):
    """A pack that cannot be read, installed or removed."""


class ScriptError(RoleLLMError):
    """A script that cannot be read, or in which a role cannot be found."""


class RoleBenchError(RoleLLMError):
    """A file of samples that cannot be read or written, or from which no data set can be built."""


class ChatFileError(RoleLLMError):
    """A conversation file that cannot be read or written."""


class SceneError(RoleLLMError):
    """A scene that does not exist, or a scene file that cannot be used."""


class TrustError(RoleLLMError):
    """A file from elsewhere names a model or a file to which the user has not agreed."""


class PluginError(RoleLLMError):
    """An entry point of another package that cannot be used."""


class CorpusError(RoleLLMError):
    """A file of the cast's corpus that cannot be read, or that is not there."""
