"""The server certificate of an HTTPS door, from a throw-away authority, made at start.

Written into the folder of whoever opens the door (0700), keys with 0600; they go away with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from dra_api.private_file import write_private

VALID = timedelta(days=365)


class CertificateError(Exception):
    """No certificate can be made on this machine."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths of what was made."""

    authority: Path
    certificate: Path
    key: Path


def make(folder: Path) -> Certificates:
    """Make a CA and a certificate for localhost and 127.0.0.1 in `folder`. Raises CertificateError."""
    try:
        # Loading it takes a while, and most servers open no door.
        from dra_api.certificate_authority import Authority
    except ImportError as error:
        raise CertificateError(f"the HTTPS door needs the Python package 'cryptography': {error}") from error
    authority = Authority(valid=VALID)
    certificate, key = authority.server("kube-apiserver").write(folder, "apiserver")
    found = Certificates(folder / "ca.crt", certificate, key)
    write_private(found.authority, authority.certificate)
    return found
