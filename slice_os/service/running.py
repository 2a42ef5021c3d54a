"""Running the service until a signal stops it."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from slice_os.errors import InputError
from slice_os.service.app import create_app
from slice_os.service.settings import ServiceSettings


def run_service(settings: ServiceSettings, started: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; running requests may then end.

    Args:
        settings: stores, address and limits.
        started: called with the address of the page as soon as the service listens.

    Raises:
        InputError: if the host or port cannot be listened on.
    """
    _log_to_stderr()
    listener = _listening(settings.host, settings.port)
    config = uvicorn.Config(
        create_app(settings),
        # Its lines would show phrases.
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=round(settings.limits.stop_seconds),
    )
    port = listener.getsockname()[1]
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    # Connections wait until the app has started.
    started(f"http://{shown}:{port}/")
    # The server ends gracefully, then raises the signal that stopped it once more.
    with listener, suppress(KeyboardInterrupt):
        uvicorn.Server(config).run([listener])


def _log_to_stderr() -> None:
    """Log a line of JSON for every request, and errors."""
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(logging.Formatter("%(message)s"))
    for name, level in (("slice_os.service", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.addHandler(lines)
        logger.propagate = False


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise InputError(
            f"{host}:{port}: cannot listen there ({error.strerror}); choose another --host or "
            "--port"
        ) from None
