"""Plants random one-token faults in the trainer and finds out which of them its tests notice.

    python trainer_mutants.py SEED COUNT [--processes]

Runs in a copy of the repository, which it changes. The libraries are imported once, and each test file runs
in a fork: first without a fault, to find out which lines it runs, then for each fault in such a line, shortest
file first, until one fails. A test that starts a process is skipped; with --processes, what no other test
notices is tried again with them. Prints a JSON line for each fault: {"file", "line", "fault", "byUnit",
"byProcess"}, of which the last two are the test file that noticed it or null.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from multiprocessing import util
from pathlib import Path
from typing import Any

import cosmic_ray.plugins
import coverage
import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

ROOMS = ("protocol", "data", "model", "export", "training")
# Of cosmic-ray's operators, those that make a common mistake; it has twelve for an addition alone. Not for `/`, which
# joins paths more often than it divides.
OPERATORS = [
    f"core/{name}"
    for name in [
        "AddNot",
        "ReplaceUnaryOperator_Delete_Not",
        "ReplaceAndWithOr",
        "ReplaceOrWithAnd",
        "ReplaceTrueWithFalse",
        "ReplaceFalseWithTrue",
        "NumberReplacer",
        "ReplaceBreakWithContinue",
        "ReplaceContinueWithBreak",
        "ExceptionReplacer",
    ]
]
OPERATORS += [
    f"core/ReplaceBinaryOperator_{change}"
    for change in ["Add_Sub", "Sub_Add", "Mul_Div", "FloorDiv_Mul", "Mod_Mul", "Pow_Mul"]
]
OPERATORS += [
    f"core/ReplaceComparisonOperator_{change}"
    for change in [
        "Eq_NotEq",
        "NotEq_Eq",
        "Lt_LtE",
        "Lt_GtE",
        "LtE_Lt",
        "LtE_Gt",
        "Gt_GtE",
        "Gt_LtE",
        "GtE_Gt",
        "GtE_Lt",
        "Is_IsNot",
        "IsNot_Is",
    ]
]
# What the tests of one fault may take, measured without a fault.
MOST_SECONDS = 120
# An endless loop ends after this many times what the test takes without a fault, and this many seconds.
PATIENCE = (4, 30)


class Fault:
    """A change of one token of a file."""

    def __init__(
        self, path: Path, operator: str, occurrence: int, start: tuple[int, int], end: tuple[int, int]
    ):
        self.path, self.line = path, start[0]
        self._operator, self._occurrence = operator, occurrence
        self.place = (str(path), start, end)

    def planted(self) -> str:
        """The text of the file with the fault."""
        operator = cosmic_ray.plugins.get_operator(self._operator)()
        return mutate_code(self.path.read_text(), operator, self._occurrence)

    def description(self) -> str:
        """The line before and after."""
        lines = self.path.read_text().splitlines(), self.planted().splitlines()
        old, new = next(pair for pair in zip(*lines, strict=False) if pair[0] != pair[1])
        return f"{old.strip()}  ->  {new.strip()}"


def faults_of(path: Path) -> list[list[Fault]]:
    """All faults of a file, those of one token together."""
    tree = get_ast(path.read_text())
    by_place: dict[object, list[Fault]] = {}
    for name in OPERATORS:
        operator = cosmic_ray.plugins.get_operator(name)()
        places = (place for node in ast_nodes(tree) for place in operator.mutation_positions(node))
        for occurrence, (start, end) in enumerate(places):
            fault = Fault(path, name, occurrence, start, end)
            by_place.setdefault(fault.place, []).append(fault)
    return list(by_place.values())


def sample(seed: int, count: int) -> list[Fault]:
    """As many faults as wanted, each of another token; every token is as likely."""
    paths = sorted(path for room in ROOMS for path in Path("trainer", room).rglob("*.py"))
    tokens = [token for path in paths for token in faults_of(path)]
    print(f"{len(tokens)} tokens in {len(paths)} files of the trainer", file=sys.stderr)
    chance = random.Random(seed)
    return [chance.choice(token) for token in chance.sample(tokens, min(count, len(tokens)))]


def refuse_processes() -> None:
    """Lets a test that starts a process be skipped."""

    def refuse(*args: object, **_: object) -> None:
        pytest.skip("starts a process")

    subprocess.Popen.__init__ = refuse  # type: ignore[method-assign]
    os.fork = refuse  # type: ignore[assignment]
    util.spawnv_passfds = refuse


def run_tests(file: str, processes: bool, seconds: float, covered: Path | None = None) -> tuple[int, str]:
    """The exit status of pytest for a file in a fork, `seconds` at most, and its output."""
    output = Path("pytest-output")
    child = os.fork()
    if child == 0:
        os.setsid()
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        if not processes:
            refuse_processes()
        measured = covered and coverage.Coverage(data_file=None, source=[f"trainer/{room}" for room in ROOMS])
        if measured:
            measured.start()
        status = pytest.main([file, "-x", "-q", "-p", "no:cacheprovider", "--no-header"])
        if measured:
            measured.stop()
            data = measured.get_data()
            lines = {os.path.relpath(name): data.lines(name) for name in data.measured_files()}
            covered.write_text(json.dumps(lines))
        sys.stdout.flush()
        os._exit(int(status))
    began = time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() - began > seconds:
            os.killpg(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            break
        time.sleep(0.05)
    return os.waitstatus_to_exitcode(status), output.read_text(errors="replace")


class Tests:
    """The test files, which lines each covers, and how long it takes."""

    def __init__(self, processes: bool) -> None:
        self._processes = processes
        self._known: dict[str, dict[str, Any]] = {}
        remembered = Path(f"../trainer-tests{'-processes' * processes}.json")
        before = json.loads(remembered.read_text()) if remembered.exists() else {}
        files = sorted(Path("trainer/tests").rglob("test_*.py"))
        others = digest(path for path in Path("trainer").rglob("*.py") if path not in files)
        for file in files:
            key = others + digest([file])
            known = before.get(str(file), {})
            self._known[str(file)] = known if known.get("key") == key else self._measure(str(file), key)
            remembered.write_text(json.dumps({**before, **self._known}))

    def _measure(self, file: str, key: str) -> dict[str, Any]:
        """What a test file covers. One that fails without a fault, or runs nothing, says nothing."""
        began = time.monotonic()
        covered = Path("trainer-covered.json")
        covered.unlink(missing_ok=True)
        status, output = run_tests(file, self._processes, 600, covered)
        seconds = time.monotonic() - began
        summary = (output.strip().splitlines() or [""])[-1]
        print(f"{seconds:6.1f} s  {status}  {file}  {summary}", file=sys.stderr, flush=True)
        lines = json.loads(covered.read_text()) if status == 0 and covered.exists() else {}
        return {"key": key, "seconds": seconds, "lines": lines}

    def of(self, fault: Fault) -> list[str]:
        """The test files that run its line, shortest first; if an import runs it, those using the module."""
        inside = lines_of_functions(fault.path.read_text())
        wanted = {fault.line} if fault.line in inside else inside or {fault.line}
        files = [
            file
            for file, known in self._known.items()
            if wanted.intersection(known["lines"].get(str(fault.path), []))
        ]
        return sorted(files, key=self._seconds)

    def _seconds(self, file: str) -> float:
        return self._known[file]["seconds"]

    def notice(self, fault: Fault) -> str | None:
        """The first test file that fails with the fault."""
        files = self.of(fault)
        before = fault.path.read_text()
        fault.path.write_text(fault.planted())
        left = float(MOST_SECONDS)
        try:
            for file in files:
                left -= self._seconds(file)
                if left < 0:
                    break
                limit = PATIENCE[0] * self._seconds(file) + PATIENCE[1]
                if run_tests(file, self._processes, limit)[0] != 0:
                    return file
            return None
        finally:
            fault.path.write_text(before)


def digest(paths: Iterable[Path]) -> str:
    """Changes with the contents of the files."""
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(str(path).encode() + path.read_bytes())
    return found.hexdigest()


def lines_of_functions(text: str) -> set[int]:
    """The lines inside functions: those that an import does not run."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return {line for node in nodes for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)}


def main() -> None:
    """Plants the faults, one after the other."""
    seed, count, *flags = sys.argv[1:]
    faults = sample(int(seed), int(count))
    sys.path.insert(0, os.getcwd())
    # Without what a fork must import anew, because it may have a fault.
    preload = importlib.import_module("trainer.preload")
    if not preload.load(preload.LIBRARIES):
        raise SystemExit("forking is not safe")
    for name in [name for name in sys.modules if name.split(".")[0] == "trainer"]:
        del sys.modules[name]
    tests = [Tests(processes) for processes in (False, True)[: 1 + ("--processes" in flags)]]
    for fault in faults:
        found = {"file": str(fault.path), "line": fault.line, "fault": fault.description()}
        by_unit = tests[0].notice(fault)
        by_process = tests[1].notice(fault) if by_unit is None and len(tests) > 1 else None
        print(json.dumps({**found, "byUnit": by_unit, "byProcess": by_process}), flush=True)


if __name__ == "__main__":
    main()
