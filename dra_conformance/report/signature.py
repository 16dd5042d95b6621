"""Signs a report with an SSH key, and checks who signed it, with `ssh-keygen -Y`.

The signature is over the bytes of report.json, which has the SHA-256 of the event log. It shows who vouches for the
report; the format is that of OpenSSH (PROTOCOL.sshsig).
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from dra_conformance.core.errors import SuiteError, UsageError

NAME = "report.json.sig"
NAMESPACE = "dra-conformance"
_SECONDS = 120.0  # a key with a passphrase, or on a token, waits for its owner


def check_key(key: Path) -> None:
    """Sign a test text, so that a wrong key or passphrase is found before the run. Raises UsageError."""
    if not key.is_file():
        raise UsageError(f"--sign-key {key}: no such file")
    try:
        sign(b"test", key)
    except SuiteError as error:
        raise UsageError(f"--sign-key {key}: {error.message}") from None


def sign(content: bytes, key: Path) -> bytes:
    """Return the signature. `key` is a private key, or a public key whose private key is in the SSH agent.

    Raises SuiteError if ssh-keygen is missing or fails.
    """
    return _ssh_keygen("sign", "-f", str(key), "-n", NAMESPACE, content=content)


def signer(content: bytes, signature: Path, allowed: Path) -> str:
    """Return the principal of `allowed` (an OpenSSH allowed_signers file) that signed the content.

    Raises SuiteError if there is none, or the signature is not that of the content.
    """
    found = _ssh_keygen("find-principals", "-s", str(signature), "-f", str(allowed)).decode().split()
    if not found:
        raise SuiteError(f"no signer in {allowed} has made this signature")
    words = ("-f", str(allowed), "-I", found[0], "-n", NAMESPACE, "-s", str(signature))
    _ssh_keygen("verify", *words, content=content)
    return found[0]


def _ssh_keygen(action: str, *words: str, content: bytes = b"") -> bytes:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise SuiteError("ssh-keygen is not installed", hint="It is part of OpenSSH.")
    try:
        done = subprocess.run(
            [program, "-Y", action, *words], input=content, capture_output=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SuiteError(f"ssh-keygen fails: {error}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise SuiteError(f"ssh-keygen fails: {said[-1] if said else f'exit code {done.returncode}'}")
    return done.stdout
