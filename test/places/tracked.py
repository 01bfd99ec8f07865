"""Prints what a tracker has of its only run as JSON: {figure: {step: value}}, read with the tracker's own library.

Arguments: the tracker, and the folder where it keeps runs."""

import json
import os
import struct
import sys
from glob import glob

name, folder = sys.argv[1:]
found: dict[str, dict[int, float]] = {}


def add(figure: str, step: int, value: float) -> None:
    found.setdefault(figure, {})[step] = value


def wandb_records(path: str):
    """The records of a file of W&B: blocks of 32 KiB of parts, each with checksum, length and type."""
    from wandb.proto.wandb_internal_pb2 import Record

    with open(path, "rb") as file:
        text = file.read()
    at, record = 7, b""
    while at + 7 <= len(text):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        length, part = struct.unpack("<HB", text[at + 4 : at + 7])
        record += text[at + 7 : at + 7 + length]
        at += 7 + length
        if part in (1, 4):
            yield Record.FromString(record)
            record = b""


if name == "wandb":
    [path] = glob(f"{folder}/wandb/offline-run-*/run-*.wandb")
    for record in wandb_records(path):
        row = {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item}
        for figure, value in row.items():
            if "/" in figure:
                add(figure, row["global_step"], value)
elif name == "mlflow":
    import mlflow

    client = mlflow.MlflowClient(f"sqlite:///{folder}/mlflow.db")
    [run] = client.search_runs([one.experiment_id for one in client.search_experiments()])
    for figure in run.data.metrics:
        for metric in client.get_metric_history(run.info.run_id, figure):
            add(figure, metric.step, metric.value)
else:
    os.environ["TRACKIO_DIR"] = folder
    from trackio.sqlite_storage import SQLiteStorage

    [project] = SQLiteStorage.get_projects()
    [run] = SQLiteStorage.get_runs(project)
    for row in SQLiteStorage.get_logs(project, run):
        for figure, value in row.items():
            if "/" in figure:
                add(figure, row["step"], value)
print(json.dumps(found))
