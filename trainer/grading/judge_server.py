"""Where judges are: requests to servers that speak OpenAI's API, with keys that no grader has."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import sys
from hashlib import sha256
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, urlsplit

from trainer.grading.score import Grader, GraderError

# Paths of the service's file for commands, `{"url", "key", "certificate"}`, and of keys by base URL.
SERVICE_FILE, KEYS_FILE = "HONE_SERVICE_FILE", "HONE_JUDGE_KEYS_FILE"
# Seconds without a byte.
TIMEOUT = 120.0
MOST_BYTES = 1 << 20


class JudgeError(GraderError):
    """A judge that did not judge; `kind` is how: `server` (unreachable, busy, refuses) or `parse` (it answers
    something else)."""

    def __init__(self, text: str, kind: Literal["server", "parse"] = "server") -> None:
        super().__init__(text)
        self.kind = f"model_grader_{kind}_error"


class Server(NamedTuple):
    """Where a judge is. `certificate` is the SHA-256 of the only one that is accepted, if it is known."""

    url: str
    key: str | None = None
    certificate: str | None = None


def server_of(grader: Grader) -> Server:
    """That of the grader's `base_url`, or this service."""
    url = grader.get("base_url")
    if url is None:
        local = _read(SERVICE_FILE)
        if not local:
            raise JudgeError("The grader has no base_url, and the service, which it then asks, does not run.")
        return Server(f"{local['url'].rstrip('/')}/v1", local["key"], local.get("certificate"))
    url = url.rstrip("/")
    return Server(url, _read(KEYS_FILE).get(url))


def _read(variable: str) -> dict[str, Any]:
    """The file with secrets that a variable of the environment names; empty if there is none."""
    try:
        with open(os.environ.get(variable, ""), encoding="utf-8") as file:
            if sys.platform != "win32" and os.fstat(file.fileno()).st_mode & 0o077:
                raise JudgeError(f"Other users can read {file.name}: run chmod 600 on it.")
            read: dict[str, Any] = json.load(file)
            return read
    except FileNotFoundError:
        return {}
    except ValueError:
        raise JudgeError(f"{os.environ[variable]} is not JSON.") from None


def check(grader: Grader) -> None:
    """Raises GraderError if its server cannot be reached, refuses the key, or has no such model."""
    server, model = server_of(grader), grader["model"]
    status, _, body = request(server, "GET", "/models", None)
    if status in (401, 403):
        raise JudgeError(refusal(server, status, body))
    if status == 404:
        return  # A server without a list.
    if status != 200:
        raise JudgeError(refusal(server, status, body))
    try:
        listed = [str(one["id"]) for one in json.loads(body)["data"]]
    except (ValueError, LookupError, TypeError):
        raise JudgeError(f"{server.url} does not answer as OpenAI's API does.", "parse") from None
    # Names that are not listed, such as those of base models.
    if model not in listed and request(server, "GET", f"/models/{quote(model, safe='/')}", None)[0] != 200:
        names = ", ".join(listed[:10]) or "none"
        raise JudgeError(f"{server.url} has no model {model}. It has {names}.")


def refusal(server: Server, status: int, body: bytes) -> str:
    """What an answer with a status other than 200 says, without the key."""
    try:
        told = json.loads(body)
        error = told.get("error", told)
        reason = str(error.get("message", error) if isinstance(error, dict) else error)
    except (ValueError, AttributeError):
        reason = body.decode(errors="replace")
    if server.key:
        reason = reason.replace(server.key, "…")
    advice = "" if server.key or status not in (401, 403) else " There is no key for this URL."
    return f"{server.url} answered {status}: {reason[:300]}{advice}"


def request(server: Server, method: str, path: str, body: str | None) -> tuple[int, float | None, bytes]:
    """Status, seconds to wait, body. Redirects are not followed, so that the key goes nowhere else.

    Raises:
        JudgeError: it cannot be reached, or answers too much.
    """
    headers = {"Content-Type": "application/json", "User-Agent": "Hone"}
    if server.key:
        headers["Authorization"] = f"Bearer {server.key}"
    try:
        parts = urlsplit(server.url)
        connection = _connection(server, parts.scheme, parts.hostname or "", parts.port)
        try:
            connection.request(method, parts.path + path, body and body.encode(), headers)
            response = connection.getresponse()
            answer = response.read(MOST_BYTES + 1)
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise JudgeError(f"{server.url} cannot be reached: {reason}") from None
    if len(answer) > MOST_BYTES:
        raise JudgeError(f"{server.url} answered more than {MOST_BYTES >> 20} MiB.", "parse")
    try:
        after = max(0.0, float(response.headers.get("Retry-After", "")))
    except ValueError:
        after = None
    return response.status, after, answer


def _connection(server: Server, scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
    if scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=TIMEOUT)
    if scheme != "https":
        raise ValueError("base_url must start with http:// or https://")
    context = ssl.create_default_context()
    if server.certificate is None:
        return http.client.HTTPSConnection(host, port, timeout=TIMEOUT, context=context)
    # The certificate is compared instead, before anything is sent.
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT, context=context)
    connection.connect()
    held = sha256(connection.sock.getpeercert(binary_form=True) or b"").hexdigest()
    if held != server.certificate.replace(":", "").lower():
        connection.close()
        raise ValueError("it has another certificate than the service that was started")
    return connection
