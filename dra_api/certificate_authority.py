"""A temporary certificate authority for a control plane that the run starts.

It signs the server certificates of etcd, API servers and proxies, and client certificates of users. The authority's key
is never written to disk. Written files have mode 0600 and are removed with their folder.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from dra_api.private_file import write_private

_VALID = timedelta(days=7)
_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
_ADDRESSES = ("127.0.0.1", "::1", "10.0.0.1")  # the last is the first address of the service range


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its key as PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Write `name`.crt and `name`.key and return their paths."""
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        write_private(certificate, self.certificate)
        write_private(key, self.key)
        return certificate, key


class Authority:
    """One certificate authority with a new key; its certificates are valid for `valid`."""

    def __init__(self, name: str = "dra-conformance-ca", *, valid: timedelta = _VALID) -> None:
        self._valid = valid
        self._key = ec.generate_private_key(ec.SECP256R1())
        subject = _subject(name)
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
        self._certificate = (
            _builder(subject, subject, self._key, valid)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def certificate(self) -> bytes:
        """The authority's certificate as PEM."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def server(self, name: str, dns: Iterable[str] = _NAMES) -> KeyPair:
        """Return a certificate for a server on loopback, or of these DNS names.

        It also works for a client, as etcd members need it.
        """
        names: list[x509.GeneralName] = [x509.DNSName(text) for text in dns]
        names += [x509.IPAddress(ipaddress.ip_address(text)) for text in _ADDRESSES]
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        return self._issue(_subject(name), [x509.SubjectAlternativeName(names), usage])

    def client(self, user: str, groups: Iterable[str] = ()) -> KeyPair:
        """Return a client certificate that authenticates `user` with `groups`."""
        return self._issue(_subject(user, groups), [x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])])

    def _issue(self, subject: x509.Name, extensions: list[x509.ExtensionType]) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(subject, self._certificate.subject, key, self._valid).add_extension(
            x509.BasicConstraints(ca=False, path_length=None), critical=True
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        signed = builder.add_extension(identifier, critical=False).sign(self._key, hashes.SHA256())
        return KeyPair(signed.public_bytes(serialization.Encoding.PEM), private_pem(key))


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a private key as SEC 1 PEM: the API server accepts no PKCS #8 key for service accounts."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def signing_key() -> bytes:
    """Return a new key as PEM, with which the API server signs service account tokens."""
    return private_pem(ec.generate_private_key(ec.SECP256R1()))


def _subject(name: str, groups: Iterable[str] = ()) -> x509.Name:
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, valid: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + valid)
    )
