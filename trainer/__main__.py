"""The trainer's verbs:

python -m trainer describe [--converter DIR]   prints tasks, strategies, providers … as JSON
python -m trainer run SPEC                     trains one job, then becomes `export`
python -m trainer export SPEC                  makes the GGUF files of a trained job
python -m trainer dry-run SPEC                 tries the export of a job before its training
python -m trainer reexport SPEC FOLDER TYPES   makes GGUF files of a finished model, as JSON lines
python -m trainer preview SPEC --rows N        prints the first rows as training sees them, as JSON
python -m trainer lengths SPEC                 prints how many tokens the rows have, as JSON
python -m trainer evaluate SPEC                scores the rows of a dataset with a model
python -m trainer checkpoint SPEC …            makes a checkpoint's adapter GGUF, and its base's
python -m trainer base SPEC …                  prints what the base model of a job is, as JSON
python -m trainer answer                       holds a trained model and answers requests
python -m trainer warm                         imports everything, then forks a trainer for each request
python -m trainer propose                      prints the parameters of a sweep's next trial as JSON
python -m trainer import                       prints the rows of a dataset in another format as JSONL
python -m trainer rank N PARENT                trains as rank N of the job in this folder; started by rank 0
python -m trainer node RAY-OPTIONS …           makes this machine a node of a cluster until it is ended
python -m trainer cluster                      prints the nodes of the cluster as JSON
python -m trainer starter …                    makes the starter base model
"""

from __future__ import annotations

import argparse
import json
import sys


def main(argv: list[str]) -> int:
    """Runs one verb and returns the exit status. Each verb imports only what it needs."""
    if argv[:1] == ["starter"]:
        from trainer.starter.main import main as starter

        return starter(argv[1:])
    if argv[:1] == ["node"]:
        from trainer.engines.cluster.keeper import keep

        return keep(argv[1:])
    if argv[:1] == ["import"]:
        from trainer.importing.main import main as import_rows

        return import_rows()
    if argv[:1] == ["propose"]:
        from trainer.propose import main as propose

        return propose()
    parser = argparse.ArgumentParser(prog="python -m trainer", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("describe").add_argument("--converter", default=None)
    run_verb = verbs.add_parser("run")
    run_verb.add_argument("spec")
    verbs.add_parser("export").add_argument("spec")
    verbs.add_parser("dry-run").add_argument("spec")
    reexport = verbs.add_parser("reexport")
    for name in ("spec", "folder", "types"):
        reexport.add_argument(name)
    preview = verbs.add_parser("preview")
    preview.add_argument("spec")
    preview.add_argument("--rows", type=int, default=5)
    lengths = verbs.add_parser("lengths")
    lengths.add_argument("spec")
    evaluate = verbs.add_parser("evaluate")
    evaluate.add_argument("spec")
    for verb in (run_verb, preview, lengths, evaluate):
        # Set by a process that has downloaded the model and replaces itself.
        verb.add_argument("--downloaded", action="store_true")
    run_verb.add_argument("--lost", type=int, default=0)
    rank = verbs.add_parser("rank")
    rank.add_argument("number", type=int)
    rank.add_argument("parent", type=int)
    checkpoint = verbs.add_parser("checkpoint")
    checkpoint.add_argument("spec")
    checkpoint.add_argument("--step", type=int)
    checkpoint.add_argument("--template", required=True)
    checkpoint.add_argument("--bases")
    checkpoint.add_argument("--named")
    base = verbs.add_parser("base")
    base.add_argument("spec")
    base.add_argument("--template", required=True)
    base.add_argument("--trained", type=float, required=True)
    verbs.add_parser("cluster")
    verbs.add_parser("answer")
    verbs.add_parser("warm")
    verbs.add_parser("starter")
    verbs.add_parser("import")
    verbs.add_parser("node")
    verbs.add_parser("propose")
    arguments = parser.parse_args(argv)
    if arguments.verb == "describe":
        from trainer.describe import describe

        print(json.dumps(describe(arguments.converter)))
        return 0
    if arguments.verb in ("run", "rank", "dry-run"):
        from trainer import imports

        imports.begin()
    if arguments.verb == "run":
        from trainer.run import run

        return run(arguments.spec, arguments.downloaded, arguments.lost)
    if arguments.verb == "dry-run":
        from trainer.dry_run.walk import main as walk

        return walk(arguments.spec)
    if arguments.verb == "rank":
        from trainer.engines.sibling import main as rank_main

        return rank_main(arguments.number, arguments.parent)
    if arguments.verb == "cluster":
        from trainer.engines.cluster.address import state

        print(json.dumps(state()))
        return 0
    if arguments.verb in ("preview", "lengths"):
        # Tokenizers need no torch, but transformers imports it with them if it is there: 4 s and 650 MB.
        # Python's way to say that there is no such module.
        sys.modules["torch"] = None  # type: ignore[assignment]
    if arguments.verb == "preview":
        from trainer.preview.preview import preview as show

        return show(arguments.spec, arguments.rows, arguments.downloaded)
    if arguments.verb == "lengths":
        from trainer.preview.lengths import lengths as measure

        return measure(arguments.spec, arguments.downloaded)
    if arguments.verb == "evaluate":
        from trainer.evaluating.main import evaluate as score

        return score(arguments.spec, arguments.downloaded)
    if arguments.verb == "checkpoint":
        from trainer.export.checkpoint import prepare

        named = arguments.named
        return prepare(arguments.spec, arguments.step, arguments.template, arguments.bases, named)
    if arguments.verb == "reexport":
        from trainer.export.again import export_again
        from trainer.run import make_base

        return export_again(arguments.spec, arguments.folder, arguments.types, make_base)
    if arguments.verb == "base":
        from trainer.export.base_note import describe as describe_base

        return describe_base(arguments.spec, arguments.template, arguments.trained)
    if arguments.verb == "answer":
        from trainer.answering.main import answer

        return answer()
    if arguments.verb == "warm":
        from trainer.warm import warm

        return warm()
    from trainer.run import export

    return export(arguments.spec)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
