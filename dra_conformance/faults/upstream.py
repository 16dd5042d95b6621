"""The API server behind an endpoint of the fault proxy, and the user of its requests.

Read from a kubeconfig, by the `kubernetes` package: address, authority, and the identity with which requests go on, be
it a token, a program that makes one, or a client certificate. Nothing of it is shown to the component.
"""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from typing import Any

from dra_api.kubeconfig import loaded


class Upstream:
    """One API server as one user. Raises KubeconfigError for a kubeconfig that cannot be used."""

    def __init__(self, kubeconfig: Path) -> None:
        with loaded(kubeconfig) as configuration:
            self._configuration: Any = configuration
            self.url = str(configuration.host).rstrip("/")
            secure = self.url.startswith("https")
            self.tls = self._tls(own=True) if secure else None
            """TLS for requests of this user, with its client certificate, if any."""
            self.tls_for_others = self._tls(own=False) if secure else None
            """TLS for other requests: a client certificate would take precedence over their token."""

    @property
    def authorization(self) -> str | None:
        """The current Authorization header of this user; None with a client certificate."""
        found = self._configuration.get_api_key_with_prefix("authorization") or (
            self._configuration.get_api_key_with_prefix("BearerToken")
        )
        if not found and self._configuration.username:
            pair = f"{self._configuration.username}:{self._configuration.password}".encode()
            found = f"Basic {base64.b64encode(pair).decode()}"
        return str(found) if found else None

    def _tls(self, *, own: bool) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self._configuration.ssl_ca_cert)
        if not self._configuration.verify_ssl:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if own and self._configuration.cert_file:
            context.load_cert_chain(self._configuration.cert_file, self._configuration.key_file)
        return context
