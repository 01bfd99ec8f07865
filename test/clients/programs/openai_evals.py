"""Graders, a reinforcement job and evals, in the manner of OpenAI's guides. Nothing in it knows of Hone."""

import json
import sys
import time

import openai
from openai import OpenAI

base_model, training_path, validation_path = sys.argv[1:]
client = OpenAI(max_retries=0)
told = {}


def polled(retrieve, ended):
    """What is retrieved, when its status is one of `ended`."""
    while (found := retrieve()).status not in ended:
        time.sleep(0.3)
    return found


# Graders
right = {
    "type": "string_check",
    "name": "right",
    "operation": "eq",
    "input": "{{sample.output_text}}",
    "reference": "{{item.answer}}",
}
close = {
    "type": "text_similarity",
    "name": "close",
    "input": "{{sample.output_text}}",
    "reference": "{{item.answer}}",
    "evaluation_metric": "fuzzy_match",
}
both = {
    "type": "multi",
    "name": "both",
    "graders": {"right": right, "close": close},
    "calculate_output": "0.5 * right + 0.5 * close",
}
graders = client.fine_tuning.alpha.graders
told["validated"] = graders.validate(grader=both).grader.type
item = {"answer": "abcd"}
scored = graders.run(grader=both, item=item, model_sample="abce")
told["graded"] = [scored.reward, scored.sub_rewards, scored.metadata.errors.sample_parse_error]
for bad in ({**right, "operation": "near"}, {**both, "calculate_output": "right +"}):
    try:
        graders.validate(grader=bad)
    except openai.BadRequestError as error:
        told.setdefault("refused", []).append([error.status_code, error.param, error.type])

# Reinforcement fine-tuning
files = []
for path in (training_path, validation_path):
    with open(path, "rb") as rows:
        files.append(client.files.create(file=rows, purpose="fine-tune"))
length = {
    "type": "python",
    "name": "length",
    "source": "def grade(sample, item):\n    return min(1.0, len(sample['output_text']) / 200)\n",
}
job = client.fine_tuning.jobs.create(
    model=base_model,
    training_file=files[0].id,
    validation_file=files[1].id,
    suffix="rewarded",
    seed=3,
    method={
        "type": "reinforcement",
        "reinforcement": {
            "grader": length,
            "hyperparameters": {
                "n_epochs": 1,
                "batch_size": 4,
                "eval_interval": 2,
                "reasoning_effort": "default",
                "compute_multiplier": 1,
                "eval_samples": "auto",
            },
        },
    },
)
told["created"] = [job.object, job.status in ("validating_files", "queued", "running"), job.method.type]
listed = [one.id for one in client.fine_tuning.jobs.list(limit=1)]
job = polled(
    lambda: client.fine_tuning.jobs.retrieve(job.id),
    ("succeeded", "failed", "cancelled"),
)
told["job"] = [job.id in listed, job.status, job.error and job.error.message, job.trained_tokens > 0]
events = list(client.fine_tuning.jobs.list_events(job.id, limit=3))
told["events"] = [event.message for event in reversed(events)]
told["results"] = client.files.content(job.result_files[0]).text.splitlines()
points = list(client.fine_tuning.jobs.checkpoints.list(job.id, limit=1))
told["checkpoints"] = [[point.step_number, point.metrics.to_dict()] for point in points]

# Evals
made = client.evals.create(
    name="Answers",
    metadata={"team": "support"},
    data_source_config={
        "type": "custom",
        "item_schema": {
            "type": "object",
            "properties": {"question": {"type": "string"}, "answer": {"type": "string"}},
            "required": ["question", "answer"],
        },
        "include_sample_schema": True,
    },
    testing_criteria=[right, {**close, "pass_threshold": 0.6}],
)
told["eval"] = [made.object, made.name, [one.name for one in client.evals.list(order_by="updated_at")]]
told["updated"] = client.evals.update(made.id, name="Renamed").name == client.evals.retrieve(made.id).name


def finished(run):
    """A run at its end, with all its output items."""
    done = polled(
        lambda: client.evals.runs.retrieve(run.id, eval_id=made.id), ("completed", "failed", "canceled")
    )
    items = list(client.evals.runs.output_items.list(run.id, eval_id=made.id, limit=2))
    return done, items


content = [
    {"item": {"question": f"q{at}", "answer": "abcd"}, "sample": {"output_text": text}}
    for at, text in enumerate(["abcd", "abce", "xyz"])
]
run, items = finished(
    client.evals.runs.create(
        made.id,
        name="given",
        data_source={"type": "jsonl", "source": {"type": "file_content", "content": content}},
    )
)
counts = run.result_counts
told["given"] = [
    run.status,
    [counts.total, counts.passed, counts.failed, counts.errored],
    [[one.testing_criteria, one.passed, one.failed] for one in run.per_testing_criteria_results],
    [[item.status, [result.passed for result in item.results]] for item in items],
    [item.sample.output[0].content for item in items],
]
again = client.evals.runs.output_items.retrieve(items[1].id, eval_id=made.id, run_id=run.id)
told["item"] = again.to_dict() == items[1].to_dict()
failed = client.evals.runs.output_items.list(run.id, eval_id=made.id, status="fail", order="desc")
told["failed"] = [item.datasource_item_id for item in failed]

rows = b"".join(json.dumps({"item": row["item"]}).encode() + b"\n" for row in content)
file = client.files.create(file=("rows.jsonl", rows), purpose="evals")
template = {"type": "template", "template": [{"role": "user", "content": "{{item.question}}"}]}
for kind in ("completions", "responses"):
    asked, items = finished(
        client.evals.runs.create(
            made.id,
            name=kind,
            data_source={
                "type": kind,
                "model": job.fine_tuned_model,
                "input_messages": template,
                "source": {"type": "file_id", "id": file.id},
                "sampling_params": {"temperature": 0, "max_completion_tokens": 4, "seed": 1, "top_p": 1},
            },
        )
    )
    told[kind] = [
        asked.status,
        asked.model == job.fine_tuned_model,
        asked.per_model_usage[0].invocation_count,
        [item.sample.input[0].content for item in items],
        [item.sample.usage.completion_tokens <= 4 for item in items],
    ]
told["runs"] = [one.name for one in client.evals.runs.list(made.id, limit=1)]
try:
    client.evals.runs.cancel(run.id, eval_id=made.id)
except openai.BadRequestError as error:
    told["cancel"] = error.status_code
try:
    client.evals.runs.create(
        made.id, data_source={"type": "jsonl", "source": {"type": "file_id", "id": "file-none"}}
    )
except openai.NotFoundError as error:
    told["no_file"] = error.type
told["deleted"] = [
    client.evals.runs.delete(run.id, eval_id=made.id).deleted,
    client.evals.delete(made.id).deleted,
    client.files.delete(file.id).deleted,
]
try:
    client.evals.retrieve(made.id)
except openai.NotFoundError as error:
    told["gone"] = error.status_code
print(json.dumps(told))
