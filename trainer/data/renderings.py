"""Compares the text of every row with what the playground's renderer makes of it, before the training.

Rows are rendered with jinja2, prompts of the playground and of `/v1` with the service's renderer: with a
template that the two read differently, a model would be trained on one text and asked with another.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from array import array
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypedDict

from trainer.data import pairs, rows
from trainer.data.conversations import learned_turns, to_last_answer
from trainer.data.normalizer import normalize
from trainer.data.template import common_length, render
from trainer.data.tools import Given
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from trainer.data.job import Job
    from trainer.protocol.row import Row

# Characters of a text that a message shows, from a little before the first difference.
SHOWN = 80
BEFORE = 30

ADVICE = (
    "Set use_chat_template to false to train with Hone's minimal template, or rewrite that part of the "
    "model's chat template."
)


class Rendering(TypedDict):
    """What is compared: messages with their tools, whether the start of an answer is asked for, and the text
    in training."""

    messages: list[Given]
    tools: list[dict[str, object]]
    generation: bool
    text: str


class Served(TypedDict, total=False):
    """What the playground renders of it: the text, or why it cannot."""

    text: str
    error: str


def compare_renderings(job: Job, numbered: Iterable[tuple[int, Row]], stored: Path) -> None:
    """Failure `bad_tokenizer` with both texts at the first row of `numbered` (`job_rows`) that the playground
    renders differently with the template at `stored`. Rows of texts are not rendered."""
    program = job.spec.tools.render if job.spec.tools else []
    if job.family != "causal" or job.shape == "text" or not program:
        return
    with tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(
                [*program, str(stored)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints
            )
        except OSError as error:
            raise Failure(
                "dependency_missing",
                f"The program {program[0]} cannot be started: {error.strerror}.",
                "Run `npm start` again, which builds what is missing.",
            ) from error
        assert process.stdin is not None and process.stdout is not None
        try:
            # The row of each rendering.
            asked = array("q")
            _send(job, process.stdin, numbered, asked)
            answer = process.stdout.read()
            status = process.wait()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        if status != 0:
            complaints.seek(0)
            raise _unreadable(complaints.read().decode("utf-8", "replace"))
    found = json.loads(answer)
    if "different" in found:
        number = asked[found["different"]]
        # Of the row's renderings the one that was compared last.
        within = found["different"] - asked.index(number)
        raise _different(job, number, within, found)


def _send(job: Job, pipe: IO[bytes], numbered: Iterable[tuple[int, Row]], asked: array[int]) -> None:
    """Writes the renderings of all rows to `pipe`, until its reader has found a difference."""
    numbered = iter(numbered)
    done, report = 0, rows.reporter(job, "compared with the playground's text")
    try:
        while batch := list(islice(numbered, rows.BATCH_ROWS)):
            job.beat_or_stop()
            rendered = rows.in_rows(batch, lambda given: [_renderings(job, row) for row in given])
            for (number, _), renderings in zip(batch, rendered, strict=True):
                asked.extend([number] * len(renderings))
                pipe.write("".join(f"{json.dumps(one)}\n" for one in renderings).encode())
            done += len(batch)
            report(done)
        pipe.close()
    except BrokenPipeError:
        pass


def _renderings(job: Job, row: Row) -> list[Rendering]:
    """Each prompt of a row, and each with its answer."""
    conversations = [job.conversation(row)]
    if job.shape == "preference":
        conversations.append(pairs.conversation(row, "rejected"))
    made: list[Rendering] = []
    for conversation in conversations:
        plain = to_last_answer(job.template, conversation)
        for at in learned_turns(conversation):
            for messages, generation in ((plain[:at], True), (plain[: at + 1], False)):
                text = normalize(job.template.normalizer, render(job.template, messages, generation))
                made.append(
                    {
                        "messages": [_asked(message) for message in messages],
                        "tools": messages[0].get("tools", []) if messages else [],
                        "generation": generation,
                        "text": text,
                    }
                )
    return made


def _asked(message: Given) -> Given:
    """A message as `src/inference/template/message.ts` has it."""
    made = {
        name: message[name]
        for name in ("role", "content", "reasoning_content")
        if message.get(name) is not None
    }
    if "tool_calls" in message:
        made["calls"] = [{"id": call["id"], **call["function"]} for call in message["tool_calls"]]
    if message["role"] == "tool":
        made["answers"] = {"id": message["tool_call_id"], "name": message["name"]}
    return made


def _unreadable(complaints: str) -> Failure:
    """The refusal of a template that the playground cannot read, by what its program wrote on stderr."""
    last = (complaints.splitlines() or [""])[-1]
    try:
        reason = json.loads(last)["message"]
    except (ValueError, TypeError, KeyError):
        return Failure(
            "dependency_missing",
            "The program that renders rows as the playground does failed.",
            "Run `npm start` again, which builds what is missing.",
            complaints[-2000:],
        )
    message = f"The playground cannot read the model's chat template: {reason}"
    return Failure("bad_tokenizer", message, ADVICE, complaints[-2000:])


def _different(job: Job, number: int, within: int, found: Served) -> Failure:
    """The refusal of row `number`, whose rendering `within` differs from the one `found`."""
    [row] = rows.row_at(job, [number])
    trained = _renderings(job, row)[within]["text"]
    file = "dataset" if number > 0 else "validation dataset"
    where = f"Line {abs(number)} of the {file}"
    if "error" in found:
        return Failure(
            "bad_tokenizer",
            f"{where} can be trained, but the playground cannot render it with the model's chat template: "
            f"{found['error']}",
            ADVICE,
            f"The trained text is {trained[:SHOWN]!r}.",
        )
    served = found["text"]
    first = common_length(trained, served)
    at = max(0, first - BEFORE)
    return Failure(
        "bad_tokenizer",
        f"{where}: the model's chat template or normalizer makes one text in training and another in the "
        f"playground. Trained: {trained[at : at + SHOWN]!r}. Asked: {served[at : at + SHOWN]!r}.",
        ADVICE,
        f"The texts differ from character {first + 1:,} on.",
    )
