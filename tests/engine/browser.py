"""Drives a real browser (Chromium or Chrome) by the DevTools protocol, for tests of pages."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SECONDS = 60.0
_LISTENS = re.compile(rb"DevTools listening on (ws://\S+)")


def find() -> str:
    """Return the path of a browser. Without one a test is skipped, and fails on GitHub, whose machines have Chrome."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    why = f"no browser on this machine: none of {', '.join(NAMES)} is in PATH"
    if os.environ.get("GITHUB_ACTIONS", "").lower() == "true":
        pytest.fail(why)
    pytest.skip(why)


class Tab:
    """One tab of a headless browser, for the time of a `with` statement."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._loop = asyncio.new_event_loop()
        self._folder = tempfile.mkdtemp(prefix="dra-browser-")
        self._number = 0

    def __enter__(self) -> Self:
        # Without a sandbox, because tests may run as root; the pages are our own.
        words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        self._process = subprocess.Popen(
            [self._program, *words, "--remote-debugging-port=0", f"--user-data-dir={self._folder}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            self._loop.run_until_complete(asyncio.wait_for(self._connect(self._address()), _SECONDS))
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(Exception):
            self._loop.run_until_complete(self._session.close())
        self._end()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        return self._loop.run_until_complete(asyncio.wait_for(self._call(method, parameters), _SECONDS))

    def open(self, page: Path, *, width: int, dark: bool = False) -> None:
        """Open a page on a screen of a width in pixels, and wait until it is loaded."""
        screen = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **screen)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=page.as_uri())
        self.evaluate(
            "new Promise(done => document.readyState == 'complete' ? done() : addEventListener('load', done))"
        )

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression in the page; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self, file: Path) -> None:
        """Write what the screen shows."""
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def _address(self) -> str:
        assert self._process.stderr is not None
        for line in iter(self._process.stderr.readline, b""):
            if found := _LISTENS.search(line):
                return found[1].decode()
        raise AssertionError(f"{self._program} ended before it listened")

    async def _connect(self, address: str) -> None:
        self._session = aiohttp.ClientSession()
        base = address.partition("/devtools")[0].replace("ws://", "http://")
        async with self._session.get(f"{base}/json/list") as answer:
            tabs = await answer.json()
        tab = next(one["webSocketDebuggerUrl"] for one in tabs if one["type"] == "page")
        self._socket = await self._session.ws_connect(tab, max_msg_size=0)

    async def _call(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            message = json.loads((await self._socket.receive()).data)
            if message.get("id") == self._number:
                assert "error" not in message, message
                return dict(message["result"])

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()
        self._loop.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def tab() -> Iterator[Tab]:
    """Yield a tab, for a fixture."""
    with Tab(find()) as opened:
        yield opened
