"""Exports a finished model again, or in other types, from what its folder keeps."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import msgspec

from trainer.export.gguf.convert import DIRECT_TYPES
from trainer.export.make import make
from trainer.export.merged_folder.make import make_merged, publish_merged
from trainer.export.outcome import Outcome, logged
from trainer.export.retention import chosen
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import CONTRACT, Export, Spec, read_spec
from trainer.protocol.durable import sync_tree
from trainer.protocol.failures import Failure
from trainer.protocol.stop import Stop, Stopped

# Exit status after SIGTERM, as of a shell.
CANCELLED = 143
# What can be made besides types (src/contract/models/export-forms.ts).
MERGED, ADAPTER_GGUF = "merged", "adapter_gguf"


@dataclass(frozen=True)
class Choice:
    """What the files are made of: the adapter at this strength, with the weights in the folder `checkpoint`
    if that is given. All that changes of the model's folder is put into the folder `into`."""

    into: Path
    strength: float
    checkpoint: Path | None


def export_again(
    spec_path: str,
    folder: str,
    types: str,
    find_base: Callable[[JobContext], None],
    choice: Choice | None = None,
    forms: Sequence[str] = (),
) -> int:
    """Makes the GGUF files of the `types` (separated by commas), and the `forms` of FORMS, in the model's
    `folder`, in place of those that are there; with a `choice`, in its folder, and `folder` stays as it is.

    `find_base` makes the base model's folder, if it has to be made. The specification has the shape of a
    job's; job folder and dataset may be gone. Prints JSON lines:
    `{"phase", "progress", "detail"}`, `{"artifact": …}` for each published file with its path in its folder,
    and at the end `{"export": …, "verification": …}` as in `done`. Returns exit status 0 then, 1
    after `{"failed": …}` when nothing could be tried, CANCELLED after SIGTERM. Nothing partial is left.
    """
    try:
        again = Again.of(read_spec(spec_path), Path(folder), types, choice)
    except Exception as error:
        _print({"failed": logged(error).fields()})
        return 1
    try:
        find_base(again)
        if choice is not None:
            chosen.stage(Path(folder), choice.into, choice.strength, choice.checkpoint)
            if choice.strength != 1 or choice.checkpoint is not None:
                # What a library says while the model is loaded is no result.
                with redirect_stdout(sys.stderr):
                    chosen.record_again(again, choice.checkpoint)
        export, verification = _make(again, forms)
        if choice is not None:
            sync_tree(choice.into)
        _print({"export": export, "verification": verification})
        return 0
    except Stopped:
        return CANCELLED
    except Exception as error:
        _print({"failed": logged(error).fields()})
        return 1
    finally:
        shutil.rmtree(again.folder, ignore_errors=True)


def _make(again: Again, forms: Sequence[str]) -> tuple[dict[str, object], dict[str, object] | None]:
    """Makes all; returns `export` and `verification`. What is merged is made first, as it shares what the
    files are made of, and published last, so that what ends the others leaves none of it."""
    types = again.spec.export.quantizations if again.spec.export else []
    of_merged, folder = Outcome(), None
    if MERGED in forms:
        try:
            with redirect_stdout(sys.stderr):
                folder = make_merged(again)
            of_merged.note_form(MERGED)
        except Stopped:
            raise
        except Exception as error:
            of_merged.note_form(MERGED, error)
    export, verification = of_merged.fields(), None
    if types or ADAPTER_GGUF in forms:
        others, verification = make(again, types, None, ADAPTER_GGUF in forms)
        found = [*_forms(others), *_forms(export)]
        export = {**others, "forms": found} if found else others
    if folder is not None:
        publish_merged(again, folder)
    return export, verification


def _forms(export: Mapping[str, object]) -> list[object]:
    found = export.get("forms")
    return found if isinstance(found, list) else []


class Lines:
    """Prints as JSON lines what a job writes to its journal, and the rest to the log."""

    def write(self, type: str, **fields: object) -> None:
        """Prints a line of the journal."""
        if type == "phase":
            _print(fields)
        elif type == "artifact":
            _print({"artifact": fields})
        else:
            print(f"{type}: {fields}", file=sys.stderr, flush=True)


class NoHeartbeat:
    """Nobody watches for one."""

    def beat(self) -> None:
        """Does nothing."""


@dataclass
class Again(JobContext):
    """An export that publishes into the folder `into`, with a folder in the model's for what is not
    published."""

    into: Path

    @classmethod
    def of(cls, spec: Spec, model: Path, types: str, choice: Choice | None) -> Again:
        """Makes the folder; Failure when `model` is no model's folder, or when a type is unknown."""
        if not (model / "adapter").is_dir():
            raise Failure("internal", f"There is no adapter in {model}.", "Train the model again.")
        quantizations = [name.strip().upper() for name in types.split(",") if name.strip()]
        for name in quantizations:
            if name not in CONTRACT["quantizations"] and name not in DIRECT_TYPES:
                known = ", ".join(CONTRACT["quantizations"])
                raise Failure("unsupported", f"{name} is no type of GGUF files.", f"Choose of {known}.")
        stop = Stop(model)
        stop.listen()
        folder = model.resolve() / "export.partial"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        spec = msgspec.structs.replace(spec, job_dir=str(folder), export=Export(quantizations))
        into = model if choice is None else choice.into
        return cls(spec, Lines(), NoHeartbeat(), stop, into.resolve())

    @property
    def artifacts(self) -> Path:
        """Where it publishes."""
        return self.into

    @property
    def root(self) -> Path:
        """Where it publishes."""
        return self.into


def _print(value: Mapping[str, object]) -> None:
    print(json.dumps(value, ensure_ascii=False), file=sys.__stdout__, flush=True)
