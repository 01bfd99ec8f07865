"""Runs on two nodes that are killed, cut off, stopped or out of memory; docs/endurance.md has the table."""

import os
import shutil
import signal

import pytest

pytest.importorskip("ray", reason="Ray has no wheel for this machine")

from trainer.tests import jobs
from trainer.tests.engines.clusters import STEP, WAIT_SECONDS, adapter, is_clean, refusal, steps, wait_for

pytestmark = pytest.mark.long


def changed(folder, module, text):
    """The PYTHONPATH of a copy of the package with `text` at the end of a module. A run that has it takes it
    to all nodes."""
    leave_out = shutil.ignore_patterns(".*", "__pycache__", "tests")
    shutil.copytree(jobs.ROOT / "trainer", folder / "trainer", ignore=leave_out)
    with open(folder / "trainer" / module, "a", encoding="utf-8") as file:
        file.write(text)
    return str(folder)


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


def test_run_goes_on_after_the_network_was_cut(machines, models, tmp_path):
    if not machines.namespaces:
        # They need root and the program `ip`; on one address there is no network to cut.
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
    phase, detail = fields.get("phase"), fields.get("detail")
    base = "the base model"
    if {moment!r} in ((base,) if (detail or "").startswith(base) else (type, phase, detail)):
        open({reached!r}, "w").close()
        while self.reason() is None:
            self.beat()
            time.sleep(0.01)


Reports.write = write
"""


@pytest.mark.parametrize(
    "moment", ["tokenizer", "model", "probe", "the base model", "evaluate", "checkpoint"]
)
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
