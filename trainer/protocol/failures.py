"""The closed table of failures: from an exception to a code, its cause in words, and what to do."""

from __future__ import annotations

import errno
import re
import traceback
from collections.abc import Iterator

from trainer.protocol.contracts import CONTRACT


class Failure(Exception):
    """A failure that the trainer understands: one of the contract's codes with cause, advice and evidence.

    Cause and advice are the contract's own for the code where nothing more precise is known.
    """

    def __init__(
        self, code: str, message: str | None = None, advice: str | None = None, evidence: str = ""
    ) -> None:
        known = CONTRACT["failures"][code]
        self.code = code
        self.message = message or known["message"]
        self.advice = advice or known["advice"]
        self.evidence = evidence
        super().__init__(self.message)

    def fields(self) -> dict[str, str]:
        """The fields of a `failed` line."""
        return {
            "code": self.code,
            "message": self.message,
            "advice": self.advice,
            "evidence": self.evidence or self.message,
        }


# How the C libraries below us say that the host has no memory left.
NO_MEMORY = (
    "can't allocate memory",
    "cannot allocate memory",
    "failed to map segment",
    "std::bad_alloc",
    "can't start new thread",
)


def explain(error: BaseException) -> Failure:
    """The Failure that `error` is; an unknown one becomes `internal` with its traceback's last line."""
    chain = list(_chain(error))
    for link in chain:
        if isinstance(link, Failure):
            return link
    evidence = _last_line(error)
    names = {base.__name__ for link in chain for base in type(link).__mro__}
    text = "\n".join(str(link) for link in chain)
    lower = text.lower()

    if {"OutOfMemoryError", "AcceleratorError"} & names and "out of memory" in lower:
        return Failure("out_of_memory_gpu", evidence=evidence)
    if "mps backend out of memory" in lower or "cuda out of memory" in lower:
        return Failure("out_of_memory_gpu", evidence=evidence)
    if "MemoryError" in names or any(words in lower for words in NO_MEMORY):
        return Failure("out_of_memory_host", evidence=evidence)
    if any(getattr(link, "errno", None) in (errno.ENOSPC, errno.EDQUOT) for link in chain) or (
        "no space left on device" in lower
    ):
        return Failure("disk_full", evidence=evidence)
    if "GatedRepoError" in names:
        return Failure("model_gated", evidence=evidence)
    # LocalEntryNotFoundError is an EntryNotFoundError, too, so it comes first.
    if {"LocalEntryNotFoundError", "OfflineModeIsEnabled"} & names:
        return Failure(
            "model_not_accessible",
            "The model is not in the hub cache, and the hub cannot be reached.",
            "Check the network and HF_ENDPOINT; unset HF_HUB_OFFLINE, or choose a model that is cached.",
            evidence,
        )
    if {"RepositoryNotFoundError", "RevisionNotFoundError", "EntryNotFoundError"} & names:
        return Failure("model_not_accessible", evidence=evidence)
    if {"HfHubHTTPError", "HTTPError", "ConnectError", "TimeoutException", "ConnectionError"} & names:
        status = re.search(r"\b(401|403|429|5\d\d)\b", text)
        return Failure(
            "model_not_accessible",
            f"The hub answered with status {status.group(1)}." if status else "The hub could not be reached.",
            "Check the network, HF_ENDPOINT and HUB_TOKEN, then resume: what was downloaded is kept.",
            evidence,
        )
    if "SafetensorError" in names:
        return Failure("bad_model", evidence=evidence)
    if {"ModuleNotFoundError", "PackageNotFoundError"} & names:
        return Failure("dependency_missing", evidence=evidence)
    return Failure("internal", f"The trainer failed unexpectedly: {evidence}", evidence=evidence)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """`error`, then its causes."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _last_line(error: BaseException) -> str:
    """The last line of the traceback, cut to 2,000 characters."""
    lines = "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()
    return (lines[-1] if lines else type(error).__name__)[:2000]
