"""Loads a kubeconfig with the `kubernetes` package, without leaving certificates in the temp folder.

A kubeconfig with only a server and a token or certificate is read without the package, which takes a third of a second
to import in every process.

The package writes inline certificates into files and removes them when the interpreter exits normally; a killed process
leaves them behind. Here they are written into a private folder and removed after they have been read. The certificate
files of a `Configuration` are therefore valid within the block of `loaded` only.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from dra_api import kubeconfig_fields, plain_kubeconfig

_ONE_AT_A_TIME: Final = threading.Lock()  # the package keeps its files in a table of the process


class KubeconfigError(Exception):
    """The kubeconfig is missing, unreadable, or refers to something that does not exist."""


@contextmanager
def loaded(path: Path | str | None = None, *, context: str | None = None) -> Iterator[Any]:
    """Yield a `kubernetes.client.Configuration` or equivalent; its certificate files exist until the block ends.

    Args:
        path: the file; None: KUBECONFIG, then ~/.kube/config.
        context: of the file's contexts; None: its current one.

    Raises: KubeconfigError with the file's name, the field that is wrong, and the reason.
    """
    folder = Path(tempfile.mkdtemp(prefix="dra-kubeconfig-"))
    simple = plain_kubeconfig.read(path, context=context, folder=folder)
    try:
        if simple is None or kubeconfig_fields.url_problem(simple.host):
            _check(path, context)
    except KubeconfigError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if simple is not None:
        try:
            yield simple
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
    from kubernetes import client, config  # deferred: the import takes a third of a second

    configuration: Any = client.Configuration()
    with _ONE_AT_A_TIME:
        try:
            try:
                config.load_kube_config(  # type: ignore[no-untyped-call]
                    # The package reads the variable when it is imported, which may have been long ago.
                    config_file=str(path) if path else os.environ.get("KUBECONFIG") or None,
                    context=context,
                    client_configuration=configuration,
                    temp_file_path=str(folder),
                )
            except Exception as error:  # the package raises its own errors, YAML's and OSError
                where = str(path) if path else "KUBECONFIG or ~/.kube/config"
                raise KubeconfigError(f"cannot use the kubeconfig ({where}): {error}") from error
            yield configuration
        finally:
            _forget(folder)
    if not configuration.api_key:
        # Certificates are read once: a check for newer ones took a tenth of the time of each request.
        configuration.refresh_api_key_hook = None
    if configuration.refresh_api_key_hook is not None:
        configuration.refresh_api_key_hook = _refreshing(configuration.refresh_api_key_hook, folder)


def _check(path: Path | str | None, context: str | None) -> None:
    """Raise KubeconfigError for a field or the YAML of a file: the package has neither good messages nor limits."""
    names = [path] if path else (os.environ.get("KUBECONFIG") or "~/.kube/config").split(os.pathsep)
    try:
        kubeconfig_fields.check([Path(name).expanduser() for name in names if name], context=context)
    except kubeconfig_fields.WrongFieldError as error:
        raise KubeconfigError(f"cannot use the kubeconfig {error}") from error


def _refreshing(refresh: Callable[[Any], None], folder: Path) -> Callable[[Any], None]:
    """Return a refresh hook that creates the folder again: renewed credentials may write certificates to it."""

    def renew(configuration: Any) -> None:
        try:
            refresh(configuration)  # the package replaces this hook by its own here
        finally:
            configuration.refresh_api_key_hook = renew
            if folder.exists():
                with _ONE_AT_A_TIME:
                    _forget(folder)

    return renew


def _forget(folder: Path) -> None:
    """Remove the files and the package's table of them: it would return their names again."""
    # Deferred as in `loaded`, which has imported the package by now.
    from kubernetes.config import kube_config

    known: dict[str, str] = getattr(kube_config, "_temp_files", {})
    for content in [content for content, file in known.items() if os.path.dirname(file) == str(folder)]:
        del known[content]
    shutil.rmtree(folder, ignore_errors=True)
