"""The trainer's verbs: `python -m trainer VERB …`. The service starts these processes; VERBS has them all."""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from typing import Any, NamedTuple

# How arguments are read: those without dashes are required.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "spec": {},
    "folder": {},
    "model": {},
    "types": {},
    "number": {"type": int},
    "packages": {},
    "parent": {"type": int},
    "path": {},
    "--adapter-gguf": {"action": "store_true"},
    "--bases": {},
    "--checkpoint": {},
    "--converter": {},
    # Set by a process that has downloaded the model and replaces itself.
    "--downloaded": {"action": "store_true"},
    "--into": {},
    "--lost": {"type": int, "default": 0},
    "--merged": {"action": "store_true"},
    "--named": {},
    "--rows": {"type": int, "default": 5},
    "--step": {"type": int},
    "--strength": {"type": float, "default": 1.0},
    "--template": {"required": True},
    "--trained": {"type": float, "required": True},
}


class Verb(NamedTuple):
    """What a process does: `function` of `module`, which is imported only then, called with `arguments` by
    their names. It returns the exit status, or what is printed as JSON."""

    help: str
    module: str
    function: str
    arguments: tuple[str, ...] = ()
    # Whether it imports torch as a process that trains once (`trainer.imports`).
    trains: bool = False
    # transformers imports torch with tokenizers if it is there, which takes 4 s and 650 MB.
    needs_torch: bool = True


VERBS = {
    "describe": Verb("prints tasks, strategies, providers …", "describe", "describe", ("--converter",)),
    "run": Verb(
        "trains a job, then becomes `export`", "run", "run", ("spec", "--downloaded", "--lost"), trains=True
    ),
    "export": Verb("makes the GGUF files of a trained job", "run", "export", ("spec",)),
    "dry-run": Verb(
        "tries the export of a job before its training", "dry_run.walk", "main", ("spec",), trains=True
    ),
    "reexport": Verb(
        "makes GGUF files and other forms of a finished model, as JSON lines",
        "run",
        "export_again",
        ("spec", "folder", "types", "--into", "--strength", "--checkpoint", "--merged", "--adapter-gguf"),
    ),
    "download": Verb(
        "downloads a base model to the hub cache", "model.download", "download", ("model",), needs_torch=False
    ),
    "preview": Verb(
        "prints the first rows as training sees them",
        "preview.preview",
        "preview",
        ("spec", "--rows", "--downloaded"),
        needs_torch=False,
    ),
    "lengths": Verb(
        "prints how many tokens the rows have",
        "preview.lengths",
        "lengths",
        ("spec", "--downloaded"),
        needs_torch=False,
    ),
    "evaluate": Verb(
        "scores the rows of a dataset with a model", "evaluating.main", "evaluate", ("spec", "--downloaded")
    ),
    "grade": Verb("prints the scores that graders give answers", "grading.main", "main", needs_torch=False),
    "mask": Verb(
        "prints texts with personal data replaced", "masking.main", "mask", ("packages",), needs_torch=False
    ),
    "checkpoint": Verb(
        "makes a checkpoint's adapter GGUF, and its base's",
        "export.checkpoint",
        "prepare",
        ("spec", "--step", "--template", "--bases", "--named"),
    ),
    "base": Verb(
        "prints what the base model of a job is",
        "export.base_note",
        "describe",
        ("spec", "--template", "--trained"),
    ),
    "base-template": Verb(
        "writes the prompt template of a base model",
        "preview.base_template",
        "write",
        ("path",),
        needs_torch=False,
    ),
    "answer": Verb("holds a trained model and answers requests", "answering.main", "answer"),
    "warm": Verb("imports everything, then forks a trainer for each request", "warm", "warm"),
    "propose": Verb("prints the parameters of a sweep's next trial", "propose", "main"),
    "import": Verb("prints the rows of a dataset in another format as JSONL", "importing.main", "main"),
    "document": Verb(
        "prints the text of a document, page by page", "documents.main", "main", needs_torch=False
    ),
    "rank": Verb(
        "trains as a rank of the job in this folder; started by rank 0",
        "engines.sibling",
        "main",
        ("number", "parent"),
        trains=True,
    ),
    "cluster": Verb("prints the nodes of the cluster", "engines.cluster.address", "state"),
}
# These read the command line themselves.
OTHERS = {
    "node": Verb(
        "makes this machine a node of a cluster until it is ended", "engines.cluster.keeper", "keep"
    ),
    "starter": Verb("makes the starter base model", "starter.main", "main"),
}


def main(argv: list[str]) -> int:
    """Runs one verb and returns the exit status."""
    if argv[:1] and argv[0] in OTHERS:
        verb, given = OTHERS[argv[0]], [argv[1:]]
    else:
        chosen = vars(_parser().parse_args(argv))
        verb = VERBS[chosen["verb"]]
        given = [chosen[name.removeprefix("--").replace("-", "_")] for name in verb.arguments]
    if sys.platform == "linux" and sys.version_info >= (3, 14):
        # As before Python 3.14, where every lock of tqdm starts a process of its own, with the hub token.
        import_module("multiprocessing").set_start_method("fork")
    if verb.trains:
        import_module("trainer.imports").begin()
    if not verb.needs_torch:
        # Python's way to say that there is no such module.
        sys.modules["torch"] = None  # type: ignore[assignment]
    result = getattr(import_module(f"trainer.{verb.module}"), verb.function)(*given)
    if isinstance(result, int):
        return result
    print(json.dumps(result))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m trainer", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, verb in (VERBS | OTHERS).items():
        of_verb = verbs.add_parser(name, help=verb.help)
        for argument in verb.arguments:
            of_verb.add_argument(argument, **ARGUMENTS[argument])
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
