"""Requests to the service, with nothing but Python's own library."""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from hone.errors import Refused, Unreachable

DEFAULT_URL = "http://localhost:8000"
#: Of this machine: no proxy reaches them.
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def data_folder() -> Path:
    """The folder in which a service of this user keeps its data."""
    if folder := os.environ.get("SERVICE_DATA_DIR"):
        return Path(folder)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "hone"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "hone"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "hone"


def running_here() -> tuple[str, str | None]:
    """The address and key that this user's service wrote when it started; else the default address."""
    try:
        wrote = json.loads((data_folder() / "service.json").read_text())
        return wrote["url"], wrote["key"]
    except (OSError, ValueError, KeyError):
        return DEFAULT_URL, None


class _Stay(HTTPRedirectHandler):
    """Follows no redirection, which would take the key to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Http:
    """Sends requests to one service.

    Args:
        url: of the service. By default `HONE_URL`, else the service of this user.
        key: an access key. By default `HONE_ACCESS_KEY`, else that of the service of this user.
    """

    def __init__(self, url: str | None, key: str | None) -> None:
        named = url or os.environ.get("HONE_URL")
        here, own_key = (named, None) if named else running_here()
        self.url = here.rstrip("/")
        address = urlsplit(self.url)
        if address.scheme not in ("http", "https"):
            raise ValueError(f"{self.url} is not the address of a service, such as {DEFAULT_URL}.")
        self._opener = build_opener(_Stay, *([ProxyHandler({})] if address.hostname in LOOPBACK else []))
        self._key = key or os.environ.get("HONE_ACCESS_KEY") or own_key

    def _open(self, method: str, path: str, body: bytes | None, kind: str) -> HTTPResponse:
        headers = {} if body is None else {"content-type": kind}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        try:
            return self._opener.open(Request(self.url + path, body, headers, method=method))
        except HTTPError as error:
            with error:
                raise _refusal(error.code, error.read()) from None
        except (URLError, ConnectionError) as error:
            raise Unreachable(
                f"Hone does not answer at {self.url}: {getattr(error, 'reason', error)}. Start it with "
                "`hone serve`, or name another address: hone.connect(url)."
            ) from error

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Sends JSON. Returns the answer. Raises Refused, Unreachable."""
        sent = None if body is None else json.dumps(body).encode()
        with self._open(method, path, sent, "application/json") as response:
            return json.loads(response.read() or b"null")

    def events(self, path: str, body: object) -> Iterator[dict[str, Any]]:
        """Sends JSON. Yields the data of server-sent events. Raises Refused, Unreachable."""
        with self._open("POST", path, json.dumps(body).encode(), "application/json") as response:
            for line in response:
                text = line.decode().strip()
                if text.startswith("data: ") and text != "data: [DONE]":
                    yield json.loads(text.removeprefix("data: "))

    def upload(self, path: str, filename: str, content: bytes) -> Any:
        """Sends a file as a form. Returns the answer. Raises Refused, Unreachable."""
        boundary = uuid.uuid4().hex
        name = filename.replace("\\", "_").replace('"', "_").replace("\r", "_").replace("\n", "_")
        head = f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        body = head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
        with self._open("POST", path, body, f"multipart/form-data; boundary={boundary}") as response:
            return json.loads(response.read())

    def save(self, path: str, to: Path) -> None:
        """Downloads a file; an interrupted one leaves nothing. Raises Refused, Unreachable."""
        aside = to.with_name(f"{to.name}.part")
        try:
            with self._open("GET", path, None, "") as response, aside.open("wb") as file:
                while piece := response.read(2**20):
                    file.write(piece)
            aside.replace(to)
        finally:
            aside.unlink(missing_ok=True)


def _refusal(status: int, body: bytes) -> Refused:
    """Reads the errors of all of Hone's API sets."""
    try:
        answer = json.loads(body)
    except ValueError:
        return Refused(status, body.decode(errors="replace")[:500] or f"The service answered {status}.", [])
    detail = answer.get("detail")
    issues = detail if isinstance(detail, list) else []
    error = answer.get("error")
    message = (
        "; ".join(str(issue.get("msg")) for issue in issues)
        or (error.get("message") if isinstance(error, dict) else None)
        or answer.get("message")
        or (detail if isinstance(detail, str) else None)
        or str(error or f"The service answered {status}.")
    )
    return Refused(status, message, issues)
