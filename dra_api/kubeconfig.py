"""A kubeconfig as the `kubernetes` package reads it, with no certificate left in a file of the temp folder.

One that holds a server and a token or a certificate, and nothing else that needs the package, is read without it: the
package takes a third of a second to import, for every part that is a process of its own.

The package writes the certificates that a kubeconfig carries inline into files, and removes them when the interpreter
ends in order; a process that is killed leaves them. Here they lie in a private folder that goes when they have been
read, and so the certificates of a `Configuration` are good within the block of `loaded` only.
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

from dra_api import plain_kubeconfig

_ONE_AT_A_TIME: Final = threading.Lock()  # the package remembers its files in a table of the process


class KubeconfigError(Exception):
    """The kubeconfig is missing, unreadable or names something that is not there."""


@contextmanager
def loaded(path: Path | str | None = None, *, context: str | None = None) -> Iterator[Any]:
    """A `kubernetes.client.Configuration` or its like; its certificate files are there until the block ends.

    Args:
        path: the file; None: KUBECONFIG, then ~/.kube/config.
        context: of the file's contexts; None: its current one.

    Raises: KubeconfigError with the file's name and what is wrong.
    """
    folder = Path(tempfile.mkdtemp(prefix="dra-kubeconfig-"))
    simple = plain_kubeconfig.read(path, context=context, folder=folder)
    if simple is not None:
        try:
            yield simple
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
    from kubernetes import client, config

    configuration: Any = client.Configuration()
    with _ONE_AT_A_TIME:
        try:
            try:
                config.load_kube_config(  # type: ignore[no-untyped-call]
                    config_file=str(path) if path else None,
                    context=context,
                    client_configuration=configuration,
                    temp_file_path=str(folder),
                )
            except Exception as error:  # the package raises its own, yaml's and OS errors alike
                where = str(path) if path else "KUBECONFIG or ~/.kube/config"
                raise KubeconfigError(f"cannot use the kubeconfig ({where}): {error}") from error
            yield configuration
        finally:
            _forget(folder)
    if not configuration.api_key:
        # Certificates are read once; looking for newer ones before each request took a tenth of it.
        configuration.refresh_api_key_hook = None
    if configuration.refresh_api_key_hook is not None:
        configuration.refresh_api_key_hook = _refreshing(configuration.refresh_api_key_hook, folder)


def _refreshing(refresh: Callable[[Any], None], folder: Path) -> Callable[[Any], None]:
    """Credentials that renew themselves may write certificates again, to the folder that they were given."""

    def renew(configuration: Any) -> None:
        try:
            refresh(configuration)  # which puts itself in the place of this function
        finally:
            configuration.refresh_api_key_hook = renew
            if folder.exists():
                with _ONE_AT_A_TIME:
                    _forget(folder)

    return renew


def _forget(folder: Path) -> None:
    """Remove the files, and the package's memory of them: it would hand out their names again."""
    from kubernetes.config import kube_config

    known: dict[str, str] = getattr(kube_config, "_temp_files", {})
    for content in [content for content, file in known.items() if os.path.dirname(file) == str(folder)]:
        del known[content]
    shutil.rmtree(folder, ignore_errors=True)
