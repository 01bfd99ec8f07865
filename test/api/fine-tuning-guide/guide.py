"""A script for OpenAI's fine-tuning API, in the manner of its guide. Nothing in it knows of Hone: the libraries read
OPENAI_BASE_URL and OPENAI_API_KEY themselves, and the model's name is an argument."""

import sys
import time

from openai import OpenAI

training_path, validation_path, base_model = sys.argv[1:]
client = OpenAI()

with open(training_path, "rb") as rows:
    training_file = client.files.create(file=rows, purpose="fine-tune")
with open(validation_path, "rb") as rows:
    validation_file = client.files.create(file=rows, purpose="fine-tune")

job = client.fine_tuning.jobs.create(
    model=base_model,
    training_file=training_file.id,
    validation_file=validation_file.id,
    suffix="support",
    method={"type": "supervised", "supervised": {"hyperparameters": {"n_epochs": 1, "batch_size": 8}}},
)
print("job", job.id)

seen = set()
while job.status not in ("succeeded", "failed", "cancelled"):
    time.sleep(0.5)
    job = client.fine_tuning.jobs.retrieve(job.id)
    for event in reversed(client.fine_tuning.jobs.list_events(job.id, limit=100).data):
        if event.id not in seen:
            seen.add(event.id)
            print("event", event.type, event.message)
if job.status != "succeeded":
    sys.exit(f"The job is {job.status}: {job.error}")

print("tokens", job.trained_tokens)
print("results", client.files.content(job.result_files[0]).text.splitlines()[0])
checkpoints = client.fine_tuning.jobs.checkpoints.list(job.id).data
print("checkpoint", checkpoints[0].step_number, checkpoints[0].fine_tuned_model_checkpoint)
print("model", client.models.retrieve(job.fine_tuned_model).id)

completion = client.chat.completions.create(
    model=job.fine_tuned_model,
    messages=[
        {"role": "system", "content": "You help the customers of a shop."},
        {"role": "user", "content": "My parcel has not come."},
    ],
    max_tokens=8,
)
print("answer", completion.choices[0].message.role, completion.usage.completion_tokens)
