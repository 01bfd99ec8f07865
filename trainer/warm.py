"""A process that has imported everything and becomes a job's trainer by forking.

Importing torch, transformers, TRL and PEFT takes longer than all else before the first step of a small model.
This process does it before somebody starts a job, and forks for each: the fork is a session leader of its own
and outlives both this process and the service, as a trainer started from nothing does.

It speaks JSON lines. In, on standard input:  {"run": SPEC, "cwd": DIR, "log": FILE, "env": {…}}
Out, on standard output:  {"ready": true}, then {"started": SPEC, "pid": N} or {"refused": SPEC, "reason":
TEXT}, and {"ended": PID, "code": N or null, "signal": NAME or null}. It ends when its standard input does.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
from pathlib import Path
from typing import Any

from trainer.durable import write_json

# What every run imports, in functions; the architectures are those that most jobs are for.
MODULES = (
    "datasets",
    "peft",
    "psutil",
    "safetensors.torch",
    "torch.utils.tensorboard",
    "transformers",
    "transformers.models.auto.modeling_auto",
    "transformers.models.gemma3.modeling_gemma3",
    "transformers.models.llama.modeling_llama",
    "transformers.models.qwen3.modeling_qwen3",
    "trl",
    "trl.trainer.sft_trainer",
    "trainer.export.reference",
    "trainer.families.causal",
    "trainer.run",
    "trainer.strategies.sft",
)

# Threads that libraries start while they are imported, and that a fork would lack: those of numpy's BLAS and
# of the memory pool that comes with Arrow.
SINGLE_THREADED = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}


def warm() -> int:
    """Imports, says so, and serves until standard input ends. Exit status 1 where forking is not safe."""
    import importlib

    os.environ.update(SINGLE_THREADED)
    for name in MODULES:
        importlib.import_module(name)
    # Hundreds of expressions for renamed weights, compiled when the first model of any kind is loaded.
    importlib.import_module("transformers.conversion_mapping").get_checkpoint_conversion_mapping("llama")
    if len(os.listdir("/proc/self/task")) > 1:
        print("A library has started a thread while it was imported; forking is not safe.", file=sys.stderr)
        return 1
    # What is here now is for good: a collection in a fork would touch, and so copy, every page of it.
    gc.collect()
    gc.freeze()
    return _Server().serve()


class _Server:
    def __init__(self) -> None:
        # The libraries' own prints must not come between the lines.
        self.out = os.dup(1)
        os.dup2(2, 1)
        self.children: dict[int, int] = {}
        self.poll = select.poll()
        self.poll.register(0, select.POLLIN)
        self.pending = b""

    def serve(self) -> int:
        self.say(ready=True)
        while True:
            for descriptor, _ in self.poll.poll():
                if descriptor != 0:
                    self.reap(descriptor)
                elif not self.read():
                    return 0

    def say(self, **line: Any) -> None:
        os.write(self.out, (json.dumps(line) + "\n").encode())

    def read(self) -> bool:
        """Takes the lines that have come; False at the end of input."""
        chunk = os.read(0, 65_536)
        *lines, self.pending = (self.pending + chunk).split(b"\n")
        for line in lines:
            self.fork(json.loads(line))
        return chunk != b""

    def fork(self, order: dict[str, Any]) -> None:
        try:
            log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            pid = os.fork()
        except OSError as error:
            self.say(refused=order["run"], reason=str(error))
            return
        if pid == 0:
            self.become(order, log)
        os.close(log)
        descriptor = os.pidfd_open(pid)
        self.children[descriptor] = pid
        self.poll.register(descriptor, select.POLLIN)
        self.say(started=order["run"], pid=pid)

    def become(self, order: dict[str, Any], log: int) -> None:
        """Turns the fork into what `python -m trainer run SPEC` is; does not return."""
        code = 1
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDONLY)
            for source, target in ((nothing, 0), (log, 1), (log, 2)):
                os.dup2(source, target)
            for descriptor in (nothing, log, self.out, *self.children):
                os.close(descriptor)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.environ.clear()
            os.environ.update(order["env"])
            os.chdir(order["cwd"])
            self.leave_word()
            sys.argv = [sys.argv[0], "run", order["run"]]
            from trainer.run import run

            code = run(order["run"])
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)

    def leave_word(self) -> None:
        """Writes `process.json` into the job's folder: a service that was killed before it could store which
        process this is finds a trainer by its arguments, and a fork has those of its parent."""
        fields = Path("/proc/self/stat").read_text("latin-1").rpartition(")")[2].split()
        write_json(Path("process.json"), {"pid": os.getpid(), "started": fields[19]})

    def reap(self, descriptor: int) -> None:
        pid = self.children.pop(descriptor)
        self.poll.unregister(descriptor)
        os.close(descriptor)
        status = os.waitpid(pid, 0)[1]
        ended = os.waitstatus_to_exitcode(status)
        name = signal.Signals(-ended).name if ended < 0 else None
        self.say(ended=pid, code=ended if ended >= 0 else None, signal=name)
