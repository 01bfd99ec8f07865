"""What a run checks beside its training, in CPU seconds: `python checks.py SPEC`, the trainer as the service starts it.

Runs the job and, if it asks for one, its export in this process, and prints what the parts took, child processes included:
`run` of the process until the training's end, `rendering`, `steps` of the training without its evaluations, `answers` in
evaluations, and `verification` of the exported files: the record of the trained model's answers, and what compares them.
`asked` are the prompts that each evaluation scored, the base model's first, and `told` how many the journal says.
"""

import functools
import json
import re
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import transformers

from trainer import run, work
from trainer.export import make
from trainer.export.verification import reference
from trainer.training.generate import PromptAnswers

spent = dict.fromkeys(
    ("rendering", "training", "evaluations", "answers", "verification"), 0.0
)
asked: list[list[str]] = []


def cpu_seconds() -> float:
    """Of this process and of its children that have ended."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def count(owner: Any, name: str, part: str) -> None:
    """Adds what the function `name` of `owner` takes to `part`."""
    function: Callable[..., Any] = getattr(owner, name)

    @functools.wraps(function)
    def counted(*args: Any, **options: Any) -> Any:
        begun = cpu_seconds()
        try:
            return function(*args, **options)
        finally:
            spent[part] += cpu_seconds() - begun

    setattr(owner, name, counted)


def note_prompts(self: PromptAnswers, *args: Any) -> dict[str, float]:
    """Notes what is scored before it is answered."""
    asked.append([json.dumps(prompt) for prompt in self.prompts.scored])
    return answer(self, *args)


count(PromptAnswers, "in_evaluation", "answers")
answer = PromptAnswers.in_evaluation
PromptAnswers.in_evaluation = note_prompts
count(work, "compare_renderings", "rendering")
count(transformers.Trainer, "train", "training")
count(transformers.Trainer, "evaluate", "evaluations")
count(reference, "record", "verification")
count(make, "_verify_files", "verification")
# The export follows here instead of in a process that replaces this one.
run._become_export = lambda context: None

spec = Path(sys.argv[1])
code = run.run(str(spec))
whole = cpu_seconds()
if code == 0 and json.loads(spec.read_text(encoding="utf-8"))["export"] is not None:
    code = run.export(str(spec))
journal = (spec.parent / "journal.jsonl").read_text(encoding="utf-8")
if code != 0:
    sys.exit(journal[-2000:])
lines = [json.loads(line) for line in journal.splitlines()]
sampled = [line["message"] for line in lines if line.get("code") == "metrics_sampled"]
told = {
    "run": whole,
    "steps": spent["training"] - spent["evaluations"],
    **{part: spent[part] for part in ("rendering", "answers", "verification")},
    "asked": asked,
    "told": [
        int(re.search(r"on the first (\d+) of", message)[1]) for message in sampled
    ],
    "verified": [line["verification"] for line in lines if line["type"] == "done"],
}
print("\n" + json.dumps(told))
