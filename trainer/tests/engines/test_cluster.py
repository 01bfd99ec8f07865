"""Two nodes train as one process does, and go on when one of them is lost."""

import os
import shutil
import signal
import sys
import time
from importlib import metadata

import psutil
import pytest

pytest.importorskip("ray", reason="Ray has no wheel for this machine")

from trainer.tests import jobs
from trainer.tests.engines.machines import Machines
from trainer.tests.tiny import sentences
from trainer.tests.training.test_accumulation import model_without_dropout

WAIT_SECONDS = 900
STEP = {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 2}


@pytest.fixture(scope="module")
def head(tmp_path_factory):
    made = Machines(tmp_path_factory.mktemp("machines"))
    try:
        made.start(0)
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def machines(head):
    head.start(1)
    return head


def wait_for(condition, process=None):
    """Waits until `condition` is true, while `process` runs."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        assert process is None or process.poll() is None
        time.sleep(0.1)


def steps(spec):
    return [line["step"] for line in jobs.journal(spec, "checkpoint")]


def adapter(spec):
    return (spec.parent / "artifacts" / "adapter" / "adapter_model.safetensors").read_bytes()


def is_clean(machines):
    wait_for(lambda: not machines.ranks() and not machines.forks())
    wait_for(lambda: sum(node["free_cpus"] for node in machines.look()) == len(machines.look()))
    return machines.folders() == []


def pairs(count):
    return [{"prompt": text, "chosen": reply, "rejected": reply[::-1]} for text, reply in sentences(count)]


def changed(folder, module, text):
    """The PYTHONPATH of a copy of the package with `text` at the end of a module. A run that has it takes it
    to all nodes."""
    leave_out = shutil.ignore_patterns(".*", "__pycache__", "tests")
    shutil.copytree(jobs.ROOT / "trainer", folder / "trainer", ignore=leave_out)
    with open(folder / "trainer" / module, "a", encoding="utf-8") as file:
        file.write(text)
    return str(folder)


def nowhere(head):
    return head.address.split(":")[0] + ":1"


def another(folder, package, version):
    """The PYTHONPATH of an environment with another version of a package, by what it says of itself."""
    about = folder / f"{package}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    return f"{folder}{os.pathsep}{jobs.ROOT}"


def refusal(machines, spec, **environment):
    """The code and the message of a run that fails."""
    assert machines.run(spec, **environment).wait(WAIT_SECONDS) == 1, (spec.parent / "log.txt").read_text()
    failed = jobs.journal(spec, "failed")[-1]
    return failed["code"], failed["message"]


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
def test_run_goes_on_after_a_rank_was_killed_and_ends_like_one_without_a_break(machines, models, tmp_path):
    def make(name, **settings):
        return jobs.make(tmp_path / name, models("llama"), max_steps=200, save_steps=5, **STEP, **settings)

    whole, broken = make("whole"), make("broken", workers=2)
    assert machines.run(whole, OMP_NUM_THREADS="1").wait(WAIT_SECONDS) == 0
    process = machines.run(broken)
    wait_for(lambda: steps(broken), process)
    os.kill(machines.ranks()[-1], signal.SIGKILL)
    wait_for(lambda: jobs.journal(broken, "warning"), process)
    # Its actor was killed; now the process that trains, where that is another one.
    before = len(steps(broken))
    wait_for(lambda: len(steps(broken)) > before, process)
    forks = machines.forks()
    for pid in forks[-1:]:
        os.kill(pid, signal.SIGKILL)
    assert process.wait(WAIT_SECONDS) == 0
    warnings = [line["code"] for line in jobs.journal(broken, "warning")]
    assert warnings == ["worker_lost"] * (1 + len(forks[-1:]))
    assert adapter(whole) == adapter(broken)
    assert is_clean(machines)


@pytest.mark.long
def test_run_is_stopped_and_resumed(machines, models, tmp_path):
    spec = jobs.make(tmp_path / "job", models("llama"), workers=2, max_steps=60, save_steps=5, **STEP)
    process = machines.run(spec)
    wait_for(lambda: steps(spec), process)
    (spec.parent / "stop").touch()
    assert process.wait(WAIT_SECONDS) == 0
    done = jobs.journal(spec, "done")[-1]
    assert (done["outcome"], done["step"]) == ("stopped", steps(spec)[-1])
    (spec.parent / "stop").unlink()
    assert machines.run(spec).wait(WAIT_SECONDS) == 0
    assert jobs.journal(spec, "hello")[-1]["resumed_from_step"] == done["step"]
    assert sorted(jobs.losses(spec)) == list(range(1, 61))
    assert is_clean(machines)


@pytest.mark.long
def test_nothing_stays_of_a_run_whose_driver_was_killed(machines, models, tmp_path):
    spec = jobs.make(tmp_path / "job", models("llama"), workers=2, max_steps=1000, save_steps=5, **STEP)
    process = machines.run(spec)
    wait_for(lambda: steps(spec), process)
    assert len(machines.ranks()) == 2
    process.kill()
    process.wait()
    wait_for(lambda: not machines.ranks())
    # The folders of killed ranks go when the next rank starts.
    before = len(steps(spec))
    process = machines.run(spec)
    wait_for(lambda: len(steps(spec)) > before, process)
    (spec.parent / "stop").touch()
    assert process.wait(WAIT_SECONDS) == 0
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
def test_run_waits_for_a_node_that_comes_back(machines, models, tmp_path):
    spec = jobs.make(tmp_path / "job", models("llama"), workers=2, max_steps=60, save_steps=5, **STEP)
    process = machines.run(spec)
    wait_for(lambda: steps(spec), process)
    machines.kill(1)
    wait_for(lambda: jobs.journal(spec, "warning"), process)
    # The head notices it within seconds.
    wait_for(lambda: len(machines.look()) == 1)
    machines.start(1)
    assert process.wait(WAIT_SECONDS) == 0
    assert jobs.journal(spec, "done")[-1]["outcome"] == "completed"
    assert is_clean(machines)


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
def test_run_goes_on_after_the_network_was_cut(machines, models, tmp_path):
    if not machines.namespaces:
        pytest.skip("network namespaces are not permitted")
    spec = jobs.make(tmp_path / "job", models("llama"), workers=2, max_steps=1000, save_steps=5, **STEP)
    process = machines.run(spec)
    wait_for(lambda: steps(spec), process)
    machines.cut(True)
    # Ray takes a node for lost that has not answered for some time.
    wait_for(lambda: jobs.journal(spec, "warning"), process)
    assert [line["code"] for line in jobs.journal(spec, "warning")] == ["worker_lost"]
    before = len(steps(spec))
    machines.cut(False)
    # The node that was cut off ends with its rank, and is started again, as `hone join` does.
    machines.nodes[1].wait(WAIT_SECONDS)
    machines.start(1)
    wait_for(lambda: len(steps(spec)) > before, process)
    (spec.parent / "stop").touch()
    assert process.wait(WAIT_SECONDS) == 0
    assert jobs.journal(spec, "done")[-1]["outcome"] == "stopped"
    assert is_clean(machines)


# Rank 0 waits at a moment of the run until it is asked to stop, or ended.
WAIT_AT = """
import time
_write = Reports.write


def write(self, type, **fields):
    _write(self, type, **fields)
    if {moment!r} in (type, fields.get("phase"), fields.get("detail")):
        open({reached!r}, "w").close()
        while self.reason() is None:
            self.beat()
            time.sleep(0.01)


Reports.write = write
"""


@pytest.mark.long
@pytest.mark.parametrize("moment", ["tokenizer", "model", "probe", "evaluate", "checkpoint"])
def test_run_is_stopped_and_discarded_in_every_phase(machines, models, tmp_path, moment):
    spec = jobs.make(
        tmp_path / "job",
        models("llama"),
        workers=2,
        max_steps=60,
        save_steps=5,
        eval_split=0.2,
        eval_steps=3,
        **STEP,
    )
    reached = tmp_path / "reached"
    text = WAIT_AT.format(moment=moment, reached=str(reached))
    package = changed(tmp_path / "package", "engines/cluster/outbox.py", text)
    process = machines.run(spec, PYTHONPATH=package)
    wait_for(reached.exists, process)
    (spec.parent / "stop").touch()
    assert process.wait(WAIT_SECONDS) == 0, (spec.parent / "log.txt").read_text()
    done = jobs.journal(spec, "done")[-1]
    kept = steps(spec)[-1] if steps(spec) else 0
    assert (done["outcome"], done["step"]) == ("stopped", kept) and kept < 60
    assert is_clean(machines)
    (spec.parent / "stop").unlink()
    reached.unlink()
    # The probe is not repeated by a run that goes on.
    if moment != "probe":
        process = machines.run(spec, PYTHONPATH=package)
        wait_for(reached.exists, process)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        wait_for(lambda: not machines.ranks() and not machines.forks())
        wait_for(lambda: sum(node["free_cpus"] for node in machines.look()) == 2)


# A rank takes memory at the end of its fifth step until there is no more.
TAKE_MEMORY = """
_on_step_end = Reporter.on_step_end


def on_step_end(self, args, state, control, **others):
    if (self.job.rank.number, state.global_step) == ({number}, 5):
        import resource

        import psutil
        import torch

        limit = psutil.Process().memory_info().vms + (256 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        taken = []
        while True:
            taken.append(torch.ones(1 << 23))
    return _on_step_end(self, args, state, control, **others)


Reporter.on_step_end = on_step_end
"""


@pytest.mark.long
@pytest.mark.parametrize("number", [0, 1])
def test_rank_without_memory_fails_the_run_with_its_code(machines, models, tmp_path, number):
    spec = jobs.make(tmp_path / "job", models("llama"), workers=2, max_steps=10, save_steps=3, **STEP)
    package = changed(tmp_path / "package", "training/reporter.py", TAKE_MEMORY.format(number=number))
    code, message = refusal(machines, spec, PYTHONPATH=package)
    assert code == "out_of_memory_host", message
    assert message.startswith("Worker 1 on ") == (number == 1)
    assert steps(spec) == [3]
    assert is_clean(machines)
    assert machines.run(spec).wait(WAIT_SECONDS) == 0
    assert jobs.journal(spec, "hello")[-1]["resumed_from_step"] == 3
    assert jobs.journal(spec, "done")[-1]["outcome"] == "completed"
    assert is_clean(machines)
