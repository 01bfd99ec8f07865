"""What became of the GGUF files of a training: the `export` of a `done` line (src/contract/journal.ts)."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field

from trainer.protocol.contracts import CONTRACT, IMPORTANCE_QUANTIZATIONS
from trainer.protocol.failures import Failure, explain

# Advice in place of the contract's for these codes, which is about trainings.
ADVICE = {
    "disk_full": "Free some disk space (old models, the hub cache), then export the model again.",
    "out_of_memory_host": "Close other programs, then export the model again.",
    "internal": "The adapter is kept. Export the model again; see the end of the job's log for the cause.",
}


@dataclass
class Outcome:
    """What became of each type, in the order in which they were made; None for one that is published. `forms`
    has the same of what else was asked for (src/contract/models/export-forms.ts)."""

    failures: dict[str, Failure | None] = field(default_factory=dict)
    forms: dict[str, Failure | None] = field(default_factory=dict)
    # Of how many tokens the importance matrix is, if there is one.
    importance_tokens: int | None = None

    def note(self, quantization: str, error: BaseException | None = None) -> None:
        """Keeps that a type is made, or why it is not; the log gets the traceback."""
        self.failures[quantization] = None if error is None else logged(error)

    def note_form(self, form: str, error: BaseException | None = None) -> None:
        """As `note`, of a form."""
        self.forms[form] = None if error is None else logged(error)

    def fields(self) -> dict[str, object]:
        """The value of `export`."""
        forms = [
            {
                "form": name,
                "state": "done" if failure is None else "failed",
                "reason": None if failure is None else _sentences(failure),
            }
            for name, failure in self.forms.items()
        ]
        return {**self._of_types(), "forms": forms} if forms else self._of_types()

    def _of_types(self) -> dict[str, object]:
        failed = [(name, failure) for name, failure in self.failures.items() if failure is not None]
        if not failed:
            return {**_fields("done"), "files": self._files()}
        name, failure = failed[0]
        # One reason for all files is given once.
        same = len({failure.message for _, failure in failed}) == 1 and len(failed) == len(self.failures)
        reason = failure.message if same else f"{name}: {failure.message}"
        return {**_fields("failed", failure, reason), "files": self._files()}

    def _files(self) -> list[dict[str, object]]:
        return [
            {
                "quantization": name,
                "state": "done" if failure is None else "failed",
                "reason": None if failure is None else failure.message,
                **self._importance(name, failure),
            }
            for name, failure in self.failures.items()
        ]

    def _importance(self, quantization: str, failure: Failure | None) -> dict[str, object]:
        by_it = failure is None and quantization in IMPORTANCE_QUANTIZATIONS
        tokens = self.importance_tokens
        return {"importance_tokens": tokens} if by_it and tokens is not None else {}


def skipped(reason: str) -> dict[str, object]:
    """The value of `export` when there is nothing to make."""
    return {**_fields("skipped", reason=reason), "files": []}


def failed(error: BaseException, quantizations: list[str]) -> dict[str, object]:
    """The value of `export` when `error` kept all of the files from being made."""
    return Outcome(dict.fromkeys(quantizations, logged(error))).fields()


def logged(error: BaseException) -> Failure:
    """The Failure that `error` is; its traceback goes to the log."""
    traceback.print_exception(error)
    return explain(error)


def _fields(state: str, failure: Failure | None = None, reason: str | None = None) -> dict[str, object]:
    return {
        "state": state,
        "code": failure.code if failure else None,
        "reason": reason,
        "advice": _advice(failure) if failure else None,
    }


def _sentences(failure: Failure) -> str:
    return " ".join(filter(None, (failure.message, _advice(failure))))


def _advice(failure: Failure) -> str | None:
    if failure.advice == CONTRACT["failures"][failure.code]["advice"]:
        return ADVICE.get(failure.code, failure.advice)
    return failure.advice
