"""Creates the certificate of an HTTPS server on loopback, signed by a temporary authority.

The files are written into the server's folder (0700), keys with mode 0600, and are removed with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from dra_api.private_file import write_private

VALID = timedelta(days=365)


class CertificateError(Exception):
    """No certificate can be created on this machine."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths of the created files."""

    authority: Path
    certificate: Path
    key: Path


def make(folder: Path) -> Certificates:
    """Create a CA and a certificate for localhost and 127.0.0.1 in `folder`. Raises CertificateError."""
    try:
        # The import takes a while, and most runs serve no HTTPS.
        from dra_api.certificate_authority import Authority
    except ImportError as error:
        raise CertificateError(f"an HTTPS server needs the Python package 'cryptography': {error}") from error
    authority = Authority(valid=VALID)
    certificate, key = authority.server("kube-apiserver").write(folder, "apiserver")
    found = Certificates(folder / "ca.crt", certificate, key)
    write_private(found.authority, authority.certificate)
    return found
