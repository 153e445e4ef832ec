"""Several worker processes behind one address, for models that run elsewhere.

uvicorn starts the workers, replaces those that have died, and passes signals on. Each accepts connections
from the same socket. The limits on concurrent answers, the queue and the memory are divided among them;
request rates and scenes are shared (`shared_state`), and metrics are added up (`metrics`).
"""

import logging
import math
import multiprocessing
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import RLock, Thread
from typing import Final

import uvicorn
from fastapi import FastAPI
from prometheus_client.multiprocess import mark_process_dead
from tqdm import tqdm
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess

from rolellm_agents.errors import ModelError, RoleLLMError
from rolellm_agents.models.local import load_model
from rolellm_graphs.server.app import Interface, create_app, openai_interface
from rolellm_graphs.server.endpoint import Endpoint, listening, tls_settings, with_own_names
from rolellm_graphs.server.log_settings import log_settings
from rolellm_graphs.server.metrics import FOLDER
from rolellm_graphs.server.options import ServerOptions
from rolellm_graphs.server.serving import server_config
from rolellm_graphs.server.shared_state import SharedState, StateAddress, offer

_log: Final = logging.getLogger(__name__)
_SILENT_SECONDS: Final = 60
"""A worker that is silent for so long is replaced. On a busy machine, some seconds mean nothing."""


def serve_with_workers(
    workers: int,
    options: ServerOptions,
    endpoint: Endpoint,
    *,
    interfaces: Sequence[Interface] = (openai_interface,),
    patience: float = 30.0,
    on_ready: Callable[[str], None] = print,
) -> None:
    """Serve with several processes until a signal arrives, as `serving.serve` does with one.

    Args:
        workers: the number of processes.
        options: the options of the whole server.
        endpoint: where it listens.
        interfaces: the protocols that the server speaks, as functions of modules, which workers can import.
        patience: seconds that running streams may take to end; a second signal cancels them.
        on_ready: called with the server's URL when all workers accept requests.

    Raises:
        SettingsError: the address, the prefix or the certificate cannot be used, or the address is public
            and there is no key.
        ModelError: the first model cannot be used, or a worker could not load it.
    """
    tls = tls_settings(endpoint.certificate, endpoint.private_key)
    with listening(endpoint, options) as (listener, url), _metrics_folder():
        options = with_own_names(options, endpoint.host)
        create_app(options, interfaces)  # raises what each worker would raise
        share = options_of_worker(options, workers)
        config = server_config(
            _WorkerApp(share, tuple(interfaces), offer(SharedState())),
            share,
            factory=True,
            workers=workers,
            timeout_worker_healthcheck=_SILENT_SECONDS,
            timeout_graceful_shutdown=max(1, round(patience)),
            log_config=log_settings(options),
            **tls,
        )
        config.configure_logging()
        supervisor = _Supervisor(config, [listener], lambda: on_ready(url))
        supervisor.run()
    if supervisor.has_failed:
        raise ModelError("The server has stopped, because a worker could not start; its message is above.")


@contextmanager
def _metrics_folder() -> Iterator[None]:
    """Name a folder for the counters to the workers that are started meanwhile, which read it at import."""
    with tempfile.TemporaryDirectory(prefix="rolellm-metrics-") as folder:
        os.environ[FOLDER] = folder
        try:
            yield
        finally:
            del os.environ[FOLDER]


def options_of_worker(options: ServerOptions, workers: int) -> ServerOptions:
    """A worker's share of the limits."""
    return replace(
        options,
        concurrent=math.ceil(options.concurrent / workers),
        queue=math.ceil(options.queue / workers),
        body_memory=math.ceil(options.body_memory / workers),
    )


@dataclass(frozen=True)
class _WorkerApp:
    """Makes the application in a worker process, to which it is sent."""

    options: ServerOptions
    interfaces: tuple[Interface, ...]
    state: StateAddress

    def __call__(self) -> FastAPI:
        Thread(target=_end_with_supervisor, daemon=True).start()
        # uvicorn ends a worker by its signal, which leaks the semaphore that is tqdm's lock by default.
        tqdm.set_lock(RLock())
        try:
            app = create_app(self.options, self.interfaces, self.state.connect())
            load_model(app.state.agents.model())
        except RoleLLMError as error:
            _log.error("%s", error)
            raise SystemExit(STARTUP_FAILURE) from error
        return app


def _end_with_supervisor() -> None:
    """Finish running streams and end when the supervisor was killed, so that the port becomes free."""
    supervisor = multiprocessing.parent_process()
    if supervisor is not None:
        supervisor.join()
        signal.raise_signal(signal.SIGTERM)


class _Supervisor(Multiprocess):
    """Tells when all workers are ready, and forgets the present counts of those that have died."""

    def __init__(
        self, config: uvicorn.Config, sockets: list[socket.socket], on_ready: Callable[[], None]
    ) -> None:
        super().__init__(config, sockets)
        self._on_ready = on_ready
        self._was_ready = False
        self.has_failed = False
        """Whether it has ended because a worker could not start."""

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have died."""
        before = list(self.processes)
        super().keep_subprocess_alive()
        for process in before:
            if process.exitcode is not None and process.pid is not None:
                mark_process_dead(process.pid)  # type: ignore[no-untyped-call]
        self.has_failed = any(process.exitcode == STARTUP_FAILURE for process in self.processes)
        if not self._was_ready and all(process.is_ready() for process in self.processes):
            self._was_ready = True
            self._on_ready()
