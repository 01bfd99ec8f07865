"""Two nodes train as one process does; what cannot be trained on them is refused."""

import os
import shutil
import sys
from importlib import metadata

import psutil
import pytest

pytest.importorskip("ray", reason="Ray has no wheel for this machine")

from trainer.tests import jobs
from trainer.tests.engines.clusters import STEP, WAIT_SECONDS, adapter, is_clean, refusal, steps, wait_for
from trainer.tests.engines.machines import Machines
from trainer.tests.tiny import sentences
from trainer.tests.training.test_accumulation import model_without_dropout


def pairs(count):
    return [{"prompt": text, "chosen": reply, "rejected": reply[::-1]} for text, reply in sentences(count)]


def nowhere(head):
    return head.address.split(":")[0] + ":1"


def another(folder, package, version):
    """The PYTHONPATH of an environment with another version of a package, by what it says of itself."""
    about = folder / f"{package}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    return f"{folder}{os.pathsep}{jobs.ROOT}"


def test_head_says_what_it_has_and_accepts_one_token(head, tmp_path):
    state = head.state()
    assert state["available"], state
    first = {"address": head.hosts[0], "cpus": 1, "gpus": 0, "free_cpus": 1, "free_gpus": 0}
    assert state["nodes"][0] == first
    wrong = tmp_path / "token"
    wrong.write_text("0" * 64)
    assert "does not accept the token" in head.state(HONE_CLUSTER_FILE=str(wrong))["reason"]
    assert "Nothing answers" in head.state(HONE_CLUSTER=nowhere(head))["reason"]
    other = another(tmp_path / "other", "ray", "2.0.0")
    reason = head.state(PYTHONPATH=other)["reason"]
    assert f"runs Ray {metadata.version('ray')}, and this machine has 2.0.0" in reason


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sft", "packed", "dpo", "seq2seq"])
def test_two_nodes_make_the_adapter_of_one_process(machines, models, tmp_path, kind):
    given = {
        "sft": ("llama", None, {}, {"eval_split": 0.2}),
        "packed": ("llama", None, {}, {"packing": True, "max_seq_length": 64}),
        "dpo": ("llama", pairs(16), {"strategy": "dpo"}, {}),
        "seq2seq": ("t5", None, {"task": "summarization"}, {}),
    }
    model, rows, top, settings = given[kind]
    if kind == "seq2seq":
        rows = [{"input": text, "output": reply} for text, reply in sentences(16)]
    # Two ranks draw other numbers than one process.
    model_without_dropout(models(model), tmp_path / "model")
    specs = []
    for workers in (1, 2):
        spec = jobs.make(
            tmp_path / str(workers),
            tmp_path / "model",
            rows,
            top,
            workers=workers,
            max_steps=4,
            **STEP,
            **settings,
        )
        assert machines.run(spec, OMP_NUM_THREADS="1").wait(WAIT_SECONDS) == 0, (
            spec.parent / "log.txt"
        ).read_text()
        specs.append(spec)
    assert adapter(specs[0]) == adapter(specs[1])
    assert jobs.losses(specs[0]) == pytest.approx(jobs.losses(specs[1]), rel=1e-6)
    assert is_clean(machines)


@pytest.mark.long
def test_too_many_workers_are_refused_with_what_there_is(machines, models, tmp_path):
    spec = jobs.make(
        tmp_path / "job",
        models("llama"),
        workers=4,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
    )
    code, message = refusal(machines, spec)
    assert code == "cluster_unavailable"
    assert "workers is 4, and the cluster has 2 cores" in message


@pytest.mark.long
def test_cluster_that_cannot_be_used_ends_the_run_with_the_reason(machines, models, tmp_path):
    def make(name):
        return jobs.make(tmp_path / name, models("llama"), workers=2, max_steps=2, **STEP)

    code, message = refusal(machines, make("unreachable"), HONE_CLUSTER=nowhere(machines))
    assert code == "cluster_unavailable" and "Nothing answers" in message
    wrong = tmp_path / "wrong"
    wrong.write_text("0" * 64)
    code, message = refusal(machines, make("token"), HONE_CLUSTER_FILE=str(wrong))
    assert code == "cluster_unavailable" and "does not accept the token" in message
    path = another(tmp_path / "other", "peft", "0.0.1")
    # Read by Python when it starts.
    (tmp_path / "other" / "sitecustomize.py").write_text(
        "import platform\nplatform.python_version_tuple = lambda: ('3', '9', '0')\n"
    )
    code, message = refusal(machines, make("different"), PYTHONPATH=path)
    assert code == "cluster_unavailable"
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert any(f"The environment of the node {host} differs: " in message for host in machines.hosts)
    assert f"Python {python} (here 3.9)" in message
    assert f"peft {metadata.version('peft')} (here 0.0.1)" in message
    assert is_clean(machines)


@pytest.mark.long
@pytest.mark.parametrize("lack", ["disk", "memory"])
def test_node_without_room_for_the_model_is_named(machines, models, tmp_path, lack):
    free = shutil.disk_usage(machines.folder).free
    size = free + 2**30 if lack == "disk" else psutil.virtual_memory().available + 2**32
    if lack == "memory" and size + 2**32 > free:
        # The disk, which is looked at first, would be the one that is named.
        pytest.skip("the disk has less room than the memory")
    shutil.copytree(models("llama"), tmp_path / "model")
    # As long as such weights, and nearly empty on the disk.
    with open(tmp_path / "model" / "more.safetensors", "wb") as file:
        file.truncate(size)
    spec = jobs.make(tmp_path / "job", tmp_path / "model", workers=2, max_steps=2, **STEP)
    code, message = refusal(machines, spec)
    assert code == {"disk": "disk_full", "memory": "out_of_memory_host"}[lack], message
    assert any(f"The node {host} needs " in message for host in machines.hosts), message
    assert f" GB of {lack} for the model" in message
    assert is_clean(machines)


@pytest.mark.long
def test_second_run_waits_for_the_devices_of_the_first(machines, models, tmp_path):
    first, second = (
        jobs.make(tmp_path / name, models("llama"), workers=2, max_steps=steps, save_steps=5, **STEP)
        for name, steps in (("first", 1000), ("second", 2))
    )
    running = machines.run(first)
    wait_for(lambda: steps(first), running)
    waiting = machines.run(second)
    wait_for(lambda: "in use" in str(jobs.journal(second, "phase")[-1:]), waiting)
    assert running.poll() is None
    (first.parent / "stop").touch()
    assert [running.wait(WAIT_SECONDS), waiting.wait(WAIT_SECONDS)] == [0, 0]
    assert jobs.journal(second, "done")[-1]["outcome"] == "completed"
    assert is_clean(machines)


@pytest.mark.long
def test_run_that_needs_many_devices_is_not_overtaken(models, tmp_path):
    def make(name, workers, steps):
        settings = {"workers": workers, "max_steps": steps, "save_steps": 5, **STEP}
        return jobs.make(tmp_path / name, models("llama"), **settings)

    def waits(spec):
        return "in use" in str(jobs.journal(spec, "phase")[-1:])

    machine = Machines(tmp_path, cpus=4)
    try:
        machine.start(0)
        first, wide, last = make("first", 2, 1000), make("wide", 4, 1000), make("last", 2, 2)
        running = machine.run(first)
        wait_for(lambda: steps(first), running)
        waiting = machine.run(wide)
        wait_for(lambda: waits(wide), waiting)
        # Two cores are free all the time, which is what the last one needs.
        overtaking = machine.run(last)
        wait_for(lambda: waits(last), overtaking)
        (first.parent / "stop").touch()
        assert running.wait(WAIT_SECONDS) == 0
        wait_for(lambda: steps(wide), waiting)
        assert waits(last)
        (wide.parent / "stop").touch()
        assert [waiting.wait(WAIT_SECONDS), overtaking.wait(WAIT_SECONDS)] == [0, 0]
        assert jobs.journal(last, "done")[-1]["outcome"] == "completed"
    finally:
        machine.end()
