"""Our side of the training bench: `python training_hone.py SPEC`, the trainer as the service starts it.

Prints the loss of every step (of pairs, the margin too; of a policy, what scripted_answers.py tells), with the tokens, the
operations (see operations.py) and the CPU time of the process so far, and the bytes of the frozen weights in layers. A job of rlhf that trains a reward model ends with
that, and its steps are those of the reward model.
"""

import json
import sys
import time
from pathlib import Path

from operations import bytes_of_layers, operations_of
from scripted_answers import Script, told_of_step
from transformers import Trainer

from trainer.padding_free.continuing import RandomSampler
from trainer.protocol.journal import Journal
from trainer.run import run

steps = []
operations = 0.0
weights = 0
write = Journal.write
sample = RandomSampler.__call__


def watched(self: Journal, type: str, **fields: object) -> None:
    """Records the time of every metric line before it is written."""
    if type == "metric":
        told = {"loss": fields["loss"], "tokens": fields["tokens"]}
        if "rewards/margins" in fields["extra"]:
            told["margin"] = fields["extra"]["rewards/margins"]
        if "reward" in fields["extra"]:
            told |= told_of_step({**fields, **fields["extra"]})
        told |= {"operations": operations, "weights": weights}
        steps.append({**told, "cpu_seconds": time.process_time()})
    write(self, type, **fields)


train = Trainer.training_step


def script_answers(trainer: Trainer) -> bool:
    """Lets a policy draw its tokens and write those of the script; returns whether `trainer` trains one."""
    if not hasattr(trainer, "reward_funcs"):
        return False
    if not hasattr(trainer, "script"):
        model = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["model"][
            "path"
        ]
        trainer.script = Script(
            str(Path(model).parent),
            trainer.processing_class,
            trainer.num_generations,
            trainer.max_completion_length,
        )
        generate = trainer._generate_single_turn

        def scripted(prompts: list[list[int]], *others: object) -> list[list[int]]:
            answers = trainer.script.answers(prompts)
            places = [-1] * len(prompts)

            def write(
                sampler: RandomSampler, logits: object, rows: list[int]
            ) -> object:
                tokens = sample(sampler, logits, rows)
                for place, row in enumerate(rows):
                    places[row] += 1
                    tokens[place] = answers[row][places[row]]
                return tokens

            RandomSampler.__call__ = write
            try:
                return generate(prompts, *others)
            finally:
                RandomSampler.__call__ = sample

        trainer._generate_single_turn = scripted
    return True


def counted(self: Trainer, model: object, inputs: dict, *rest: object) -> object:
    """Counts the operations of a step before it is computed."""
    global operations, weights
    if not script_answers(self):
        unwrapped = self.accelerator.unwrap_model(model)
        operations += operations_of(unwrapped, inputs)
        weights = weights or bytes_of_layers(unwrapped)
    return train(self, model, inputs, *rest)


log, evaluate = Trainer.log, Trainer.evaluate


def judged(self: Trainer, logs: dict, *rest: object) -> None:
    """Records the time of every step of a reward model."""
    log(self, logs, *rest)
    if "loss" in logs and "min_reward" in logs:
        told = {
            "loss": logs["loss"],
            "margin": logs["margin"],
            "tokens": int(logs["num_tokens"]),
        }
        steps.append(
            {**told, "operations": operations, "cpu_seconds": time.process_time()}
        )


def ended(self: Trainer, *rest: object, **others: object) -> object:
    """Ends the job where it would test its reward model."""
    if any(kind.__name__ == "RewardTrainer" for kind in type(self).__mro__):
        raise SystemExit(0)
    return evaluate(self, *rest, **others)


Journal.write = watched
Trainer.training_step, Trainer.log, Trainer.evaluate = counted, judged, ended
try:
    code = run(sys.argv[1])
except SystemExit:
    code = 0
if code != 0:
    sys.exit(
        (Path(sys.argv[1]).parent / "journal.jsonl").read_text(encoding="utf-8")[-2000:]
    )
print("\n" + json.dumps(steps))
