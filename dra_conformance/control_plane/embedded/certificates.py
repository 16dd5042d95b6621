"""A throw-away certificate authority and server certificate for the HTTPS door, made at start.

Written into the control plane's own folder (0700), keys with 0600; they go away with it.
"""

from __future__ import annotations

import importlib
import ipaddress
import os
import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

VALID = timedelta(days=365)
AUTHORITY = "dra-conformance-ca"


class CertificateError(Exception):
    """No certificate can be made on this machine."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths of what was made."""

    authority: Path
    certificate: Path
    key: Path


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only this user may read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    path.chmod(0o600)


def make(folder: Path) -> Certificates:
    """Make a CA and a certificate for localhost and 127.0.0.1 in `folder`. Raises CertificateError."""
    library = _library()
    return _with_openssl(folder) if library is None else _with_library(folder, library)


def _library() -> Any:
    """The modules of `cryptography`, or None where it is not installed."""
    try:
        return tuple(
            importlib.import_module(f"cryptography.{name}")
            for name in (
                "x509",
                "hazmat.primitives.hashes",
                "hazmat.primitives.serialization",
                "hazmat.primitives.asymmetric.ec",
                "x509.oid",
            )
        )
    except ImportError:
        return None


def _with_library(folder: Path, library: Any) -> Certificates:
    x509, hashes, serialization, ec, oid = library
    now = datetime.now(UTC)

    def name(text: str) -> Any:
        return x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, text)])

    def builder(subject: str, issuer: str, public_key: Any) -> Any:
        return (
            x509.CertificateBuilder()
            .subject_name(name(subject))
            .issuer_name(name(issuer))
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + VALID)
        )

    ca_key = ec.generate_private_key(ec.SECP256R1())
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    identifier = x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key())
    ca = (
        builder(AUTHORITY, AUTHORITY, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(identifier, critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    key = ec.generate_private_key(ec.SECP256R1())
    names = [x509.DNSName(text) for text in ("localhost", "kubernetes", "kubernetes.default.svc")]
    addresses = [x509.IPAddress(ipaddress.ip_address(text)) for text in ("127.0.0.1", "::1")]
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    certificate = (
        builder("kube-apiserver", AUTHORITY, key.public_key())
        .add_extension(x509.SubjectAlternativeName([*names, *addresses]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(authority, critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    found = Certificates(folder / "ca.crt", folder / "apiserver.crt", folder / "apiserver.key")
    pem = serialization.Encoding.PEM
    write_private(found.authority, ca.public_bytes(pem))
    write_private(found.certificate, certificate.public_bytes(pem))
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    write_private(found.key, private)
    return found


_EXTENSIONS = """[ca]
basicConstraints=critical,CA:TRUE,pathlen:0
keyUsage=critical,digitalSignature,keyCertSign,cRLSign
subjectKeyIdentifier=hash
[server]
basicConstraints=critical,CA:FALSE
extendedKeyUsage=serverAuth
subjectAltName=DNS:localhost,DNS:kubernetes,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:::1
[req]
distinguished_name=dn
[dn]
"""


def _with_openssl(folder: Path) -> Certificates:
    program = shutil.which("openssl")
    if program is None:
        raise CertificateError(
            "the HTTPS door needs a certificate: install the Python package 'cryptography' (or the openssl program)"
        )
    config = folder / "openssl.cnf"
    write_private(config, _EXTENSIONS.encode())
    found = Certificates(folder / "ca.crt", folder / "apiserver.crt", folder / "apiserver.key")
    ca_key, request = folder / "ca.key", folder / "apiserver.csr"
    days = str(VALID.days)
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-config", str(config)]
    for arguments in (
        [
            "req",
            "-x509",
            *new_key,
            "-keyout",
            str(ca_key),
            "-out",
            str(found.authority),
            "-days",
            days,
            "-subj",
            f"/CN={AUTHORITY}",
            "-extensions",
            "ca",
        ],
        ["req", *new_key, "-keyout", str(found.key), "-out", str(request), "-subj", "/CN=kube-apiserver"],
        [
            "x509",
            "-req",
            "-in",
            str(request),
            "-CA",
            str(found.authority),
            "-CAkey",
            str(ca_key),
            "-CAcreateserial",
            "-out",
            str(found.certificate),
            "-days",
            days,
            "-extfile",
            str(config),
            "-extensions",
            "server",
        ],
    ):
        done = subprocess.run([program, *arguments], capture_output=True, check=False)
        if done.returncode != 0:
            raise CertificateError(f"openssl {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()}")
    for leftover in (config, ca_key, request, folder / "ca.srl"):
        leftover.unlink(missing_ok=True)
    for path in (found.authority, found.certificate, found.key):
        path.chmod(0o600)
    return found
