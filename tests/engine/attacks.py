"""A program under test that attacks the results of its run: `attacks.py REPORT`. Prints the outcome of each attack."""

import ctypes
import os
import signal
import sys

harness, report = os.getppid(), sys.argv[1]


def attempt(name, attack):
    try:
        print(name, "succeeded" if attack() else "denied", flush=True)
    except OSError:
        print(name, "denied", flush=True)


def rewrite(name):
    def attack():
        path = f"{report}/{name}"
        with open(path, "rb") as file:
            lines = file.read().replace(b"failed", b"passed").splitlines(keepends=True)
        os.unlink(path)  # the directory decides about that, not the file
        with open(path, "wb") as file:
            return file.write(b"".join(lines[:-1]))

    return attack


def memory():
    with open(f"/proc/{harness}/mem", "r+b"):
        return True


def environment():
    with open(f"/proc/{harness}/environ", "rb") as file:
        return file.read(1)


def trace():
    libc = ctypes.CDLL(None)
    if libc.ptrace(16, harness, 0, 0):  # PTRACE_ATTACH, which stops the harness
        return False
    os.waitpid(harness, 0x40000000)  # __WALL
    return libc.ptrace(17, harness, 0, 0) == 0  # PTRACE_DETACH


def add():
    with open(f"{report}/report.json", "wb") as file:
        return file.write(b"{}")


def end(*_):
    worker = "events.gw0.jsonl"
    attempt("log", rewrite(worker if os.path.exists(f"{report}/{worker}") else "events.jsonl"))
    attempt("report", add)
    os._exit(0)


signal.signal(signal.SIGTERM, end)
attempt("memory", memory)
attempt("descriptors", lambda: os.listdir(f"/proc/{harness}/fd"))
attempt("environment", environment)
attempt("ptrace", trace)
signal.pause()  # until the harness ends this program
