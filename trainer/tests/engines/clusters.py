"""What the tests of a cluster share: runs on its machines."""

import time

from trainer.tests import jobs

WAIT_SECONDS = 900
# A step that two ranks divide.
STEP = {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 2}


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


def refusal(machines, spec, **environment):
    """The code and the message of a run that fails."""
    assert machines.run(spec, **environment).wait(WAIT_SECONDS) == 1, (spec.parent / "log.txt").read_text()
    failed = jobs.journal(spec, "failed")[-1]
    return failed["code"], failed["message"]
