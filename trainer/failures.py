"""The closed table of failures: from an exception to a code, its cause in words, and what to do."""

from __future__ import annotations

import errno
import re
import traceback


class Failure(Exception):
    """A failure that the trainer understands: one of the contract's codes with cause, advice and evidence."""

    def __init__(self, code: str, message: str, advice: str, evidence: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.advice = advice
        self.evidence = evidence

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

SMALLER = (
    "Set per_device_train_batch_size to 1 (raise gradient_accumulation_steps to keep the batch), "
    "max_seq_length to a smaller value, or use_4bit to true; or choose a smaller model."
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
        return Failure("out_of_memory_gpu", "The GPU ran out of memory.", SMALLER, evidence)
    if "mps backend out of memory" in lower or "cuda out of memory" in lower:
        return Failure("out_of_memory_gpu", "The GPU ran out of memory.", SMALLER, evidence)
    if "MemoryError" in names or any(words in lower for words in NO_MEMORY):
        return Failure("out_of_memory_host", "The computer's memory ran out.", SMALLER, evidence)
    if any(getattr(link, "errno", None) in (errno.ENOSPC, errno.EDQUOT) for link in chain) or (
        "no space left on device" in lower
    ):
        advice = "Free some disk space (old models and checkpoints, the hub cache), then resume."
        return Failure("disk_full", "The disk is full.", advice, evidence)
    if "GatedRepoError" in names:
        return Failure(
            "model_gated",
            "The model is gated: its owner gives access on request.",
            "Accept its licence on its page on the hub, then use a token of that account.",
            evidence,
        )
    # LocalEntryNotFoundError is an EntryNotFoundError, too, so it comes first.
    if {"LocalEntryNotFoundError", "OfflineModeIsEnabled"} & names:
        return Failure(
            "model_not_accessible",
            "The model is not in the hub cache, and the hub cannot be reached.",
            "Check the network and HF_ENDPOINT; unset HF_HUB_OFFLINE, or choose a model that is cached.",
            evidence,
        )
    if {"RepositoryNotFoundError", "RevisionNotFoundError", "EntryNotFoundError"} & names:
        return Failure(
            "model_not_accessible",
            "The hub does not show this model: it does not exist, or the token may not read it.",
            "Check the name (owner/name) and that HUB_TOKEN may read it.",
            evidence,
        )
    if {"HfHubHTTPError", "HTTPError", "ConnectError", "TimeoutException", "ConnectionError"} & names:
        status = re.search(r"\b(401|403|429|5\d\d)\b", text)
        return Failure(
            "model_not_accessible",
            f"The hub answered with status {status.group(1)}." if status else "The hub could not be reached.",
            "Check the network, HF_ENDPOINT and HUB_TOKEN, then resume: what was downloaded is kept.",
            evidence,
        )
    if "SafetensorError" in names:
        return Failure(
            "bad_model",
            "A weight file of the model is damaged.",
            "Delete it from the hub cache (or the folder) so that it is downloaded again.",
            evidence,
        )
    if {"ModuleNotFoundError", "PackageNotFoundError"} & names:
        return Failure(
            "dependency_missing",
            "A Python package that this job needs is missing.",
            "Run `npm start` again, which repairs trainer/.venv; `npm run doctor` says what is missing.",
            evidence,
        )
    return Failure(
        "internal",
        f"The trainer failed in a way that it does not know: {evidence}",
        "Look at the end of the job's log; if it does not help, report it with that log.",
        evidence,
    )


def _chain(error: BaseException | None):
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
