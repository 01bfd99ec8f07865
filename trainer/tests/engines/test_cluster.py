"""Two nodes train as one process does, and go on when one of them is lost."""

import os
import signal
import time

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
    wait_for(lambda: not machines.ranks())
    wait_for(lambda: sum(node["free_cpus"] for node in machines.look()) == len(machines.look()))
    return machines.folders() == []


def pairs(count):
    return [{"prompt": text, "chosen": reply, "rejected": reply[::-1]} for text, reply in sentences(count)]


def test_head_says_what_it_has_and_accepts_one_token(head, tmp_path):
    state = head.state()
    assert state["available"], state
    first = {"address": head.hosts[0], "cpus": 1, "gpus": 0, "free_cpus": 1, "free_gpus": 0}
    assert state["nodes"][0] == first
    wrong = tmp_path / "token"
    wrong.write_text("0" * 64)
    assert "does not accept the token" in head.state(HONE_CLUSTER_FILE=str(wrong))["reason"]
    nowhere = head.address.split(":")[0] + ":1"
    assert "Nothing answers" in head.state(HONE_CLUSTER=nowhere)["reason"]


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
        return jobs.make(tmp_path / name, models("llama"), max_steps=60, save_steps=5, **STEP, **settings)

    whole, broken = make("whole"), make("broken", workers=2)
    assert machines.run(whole, OMP_NUM_THREADS="1").wait(WAIT_SECONDS) == 0
    process = machines.run(broken)
    wait_for(lambda: steps(broken), process)
    os.kill(machines.ranks()[-1], signal.SIGKILL)
    wait_for(lambda: jobs.journal(broken, "warning"), process)
    assert process.wait(WAIT_SECONDS) == 0
    assert {line["code"] for line in jobs.journal(broken, "warning")} == {"worker_lost"}
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
    assert machines.run(spec).wait(WAIT_SECONDS) == 1
    failed = jobs.journal(spec, "failed")[-1]
    assert failed["code"] == "cluster_unavailable"
    assert "workers is 4, and the cluster has 2 cores" in failed["message"]


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
