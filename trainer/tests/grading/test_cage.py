"""Graders in Python, each of which tries a way out of its cage, beside what it is after."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from trainer.grading.cage import Cage, CageUnavailable, Limits, cage, wall, why_unavailable
from trainer.grading.score import GraderError

SECRET = "a secret of the service"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="graders are enclosed on Linux alone")

# What an attack has at hand. `call` is a function of the C library.
ATTACKER = """
import ctypes, os, signal, socket, subprocess, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    result = getattr(libc, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def grade(sample, item):
    if sample.get("harmless"):
        return 0.25
"""


def grader(body: str) -> str:
    """A grader with the attack `body`, which raises where it does not get through."""
    return ATTACKER + textwrap.indent(f"{textwrap.dedent(body).strip()}\nreturn 1.0", "    ")


@dataclass
class Victim:
    """What attacks are after."""

    folder: Path
    listener: socket.socket

    @property
    def item(self) -> dict[str, Any]:
        """The row that tells where it is."""
        file = str(self.folder / "secret")
        return {
            "file": file,
            "folder": str(self.folder),
            "port": self.listener.getsockname()[1],
            "pid": os.getpid(),
        }

    def state(self) -> object:
        """What no attack may change."""
        found = self.folder / "secret"
        status = found.stat()
        return (
            sorted(os.listdir(self.folder)),
            found.read_text(),
            status.st_mode,
            status.st_mtime,
            status.st_uid,
        )

    def was_called(self) -> bool:
        """Whether something has connected."""
        try:
            self.listener.accept()
        except BlockingIOError:
            return False
        return True


@pytest.fixture
def victim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Victim]:
    """A file with a secret, an address that listens, and a variable of the environment."""
    (tmp_path / "secret").write_text(SECRET)
    monkeypatch.setenv("HONE_TEST_SECRET", SECRET)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield Victim(tmp_path, listener)


REFUSED = "Operation not permitted|Permission denied|not allowed to raise"
ATTACKS = {
    "reads a file": "open(item['file']).read()",
    "reads a file by the C library": "call('open', item['file'].encode(), 0)",
    "reads a file below proc": "open('/proc/self/root' + item['file']).read()",
    "lists a folder": "os.listdir(item['folder'])",
    "reads the service's environment": "open(f'/proc/{item[\"pid\"]}/environ').read()",
    "reads its own environment": "open('/proc/self/environ').read()",
    "reads the service's memory": "open(f'/proc/{item[\"pid\"]}/mem', 'rb').read(1)",
    "copies the service's memory": """
        class Part(ctypes.Structure):
            _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]
        own = ctypes.create_string_buffer(8)
        part = Part(ctypes.addressof(own), 8)
        call('process_vm_readv', item['pid'], ctypes.byref(part), 1, ctypes.byref(part), 1, 0)""",
    "traces the service": "call('ptrace', 16, item['pid'], None, None)",
    "lists processes": "os.listdir('/proc')",
    "writes a file": "open(item['folder'] + '/new', 'w').write('x')",
    "overwrites a file": "open(item['file'], 'w').write('x')",
    "appends to a library": "open(os.__file__, 'a')",
    "removes a file": "os.unlink(item['file'])",
    "renames a file": "os.rename(item['file'], item['folder'] + '/new')",
    "links a file": "os.link(item['file'], item['folder'] + '/new')",
    "makes a folder": "os.mkdir(item['folder'] + '/new')",
    "truncates a file": "os.truncate(item['file'], 0)",
    "changes a file's mode": "os.chmod(item['file'], 0o777)",
    "changes a file's owner": "os.chown(item['file'], 1234, 1234)",
    "changes a file's times": "os.utime(item['file'], (0, 0))",
    "writes to proc": "open('/proc/self/oom_score_adj', 'w').write('1000')",
    "shares memory as a file": "open('/dev/shm/hone-grader', 'w')",
    "shares memory of System V": "call('shmget', 0, 4096, 0o1600)",
    "keeps memory beyond its limit": "os.memfd_create('x')",
    "connects over TCP": "socket.create_connection(('127.0.0.1', item['port']))",
    "sends over UDP": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', item['port']))",
    "opens a Unix socket": "socket.socket(socket.AF_UNIX)",
    "opens a socket by the C library": "call('socket', 2, 1, 0)",
    "opens a netlink socket": "call('socket', 16, 3, 0)",
    "forks": "os.fork() or os._exit(0)",
    "forks by the C library": "call('fork') or os._exit(0)",
    "starts a program": "subprocess.run(['/bin/true'])",
    "becomes a program": "os.execv('/bin/true', ['/bin/true'])",
    "starts a thread": "call('unshare', 0x10000)",
    "leaves its namespace": "call('unshare', 0x10000000)",
    "mounts a file system": "call('mount', b'none', item['folder'].encode(), b'tmpfs', 0, None)",
    "changes its root": "os.chroot('/')",
    "changes its user": "os.setuid(1234)",
    "kills the service": "os.kill(item['pid'], signal.SIGCONT)",
    "kills its process group": "os.killpg(0, signal.SIGCONT)",
    "signals the service by a thread": "call('syscall', 234, item['pid'], item['pid'], signal.SIGCONT)",
    "has the kernel signal the service": """
        import fcntl
        fcntl.fcntl(1, fcntl.F_SETOWN, item['pid'])
        fcntl.fcntl(1, fcntl.F_SETFL, os.O_ASYNC)""",
    "runs on after its answer by a timer": "signal.setitimer(signal.ITIMER_REAL, 0.01)",
    "raises its limits": """
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))""",
    "outlives the service": "call('prctl', 1, 0, 0, 0, 0)",
    "lowers the service's priority": "os.setpriority(os.PRIO_PROCESS, item['pid'], 19)",
    "makes system calls of another kind": "call('syscall', 425, 8, None)",
    "opens a file by a handle": "call('open_by_handle_at', -100, None, 0)",
}


@pytest.mark.parametrize("body", ATTACKS.values(), ids=ATTACKS.keys())
def test_a_way_out_is_refused(body: str, victim: Victim) -> None:
    before = victim.state()
    with Cage(grader(body)) as cage:
        with pytest.raises(GraderError, match=REFUSED):
            cage.grade({}, victim.item)
        assert cage.grade({"harmless": True}, victim.item) == 0.25
    assert victim.state() == before
    assert not victim.was_called()
    assert not os.path.exists("/dev/shm/hone-grader")


# What a grader does to itself, with what is told.
ENDS = {
    "loops": ("while True: pass", "longer than 1 s."),
    "loops and takes no interrupt": (
        """
        while True:
            try:
                while True: pass
            except BaseException: pass""",
        "longer than 1 s.",
    ),
    "loops in C": ("sum(iter(int, 1))", "longer than 1 s."),
    "sleeps": ("__import__('time').sleep(3600)", "longer than 1 s."),
    "waits for its input": ("os.read(0, 1)", "longer than 1 s."),
    "allocates without end": ("kept = []\nwhile True: kept.append(bytearray(1 << 24))", "MemoryError"),
    "allocates shared memory": ("__import__('mmap').mmap(-1, 1 << 40)", "Cannot allocate memory"),
    "opens files without end": ("kept = [open(os.__file__) for _ in range(100)]", "Too many open files"),
    "prints without end": ("while True: print('x' * 1000)", "printed more than 64 KiB"),
    "prints errors without end": ("while True: os.write(2, b'x' * 1000)", "printed more than 64 KiB"),
    "leaves a thread": ("threading.Thread(target=print).start()", "can't start new thread"),
    "exits": ("sys.exit(3)", "SystemExit: 3"),
    "exits at once": ("os._exit(3)", "exited with status 3"),
    "crashes": ("ctypes.string_at(0)", "SIGSEGV"),
    "aborts": ("os.abort()", "ended by SIG"),
    "recurses without end": ("f = lambda: f()\nf()", "RecursionError"),
    "is interrupted": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "raises what cannot be told": (
        "class Odd(Exception):\n    def __str__(self): os._exit(4)\nraise Odd", "exited with status 4",
    ),
    "closes its pipes": ("os.closerange(0, 64)", "closed the pipe|exited with status"),
    "closes the pipe for answers and runs on": ("os.closerange(3, 64)\nwhile True: pass", "closed the pipe"),
    "answers garbage": ("os.write(3, b'garbage' * 10)", "wrote into the pipe"),
    "answers too much": ("os.write(3, bytes([2, 0, 0, 0]) + b'\\xff' * 2000)", "wrote into the pipe"),
    "answers a part": ("os.write(3, b'x')\nos._exit(0)", "exited with status 0"),
    "returns NaN": ("return float('nan')", "nan, which is not a finite number"),
    "returns infinity": ("return float('inf')", "inf, which is not a finite number"),
    "returns text": ("return '0.5'", "'0.5', which is not a number"),
    "returns nothing": ("return", "None, which is not a number"),
    "returns too large a number": ("return 10 ** 400", "OverflowError"),
    "replaces what its answer is made with": (
        "main = sys.modules['__main__']\nmain.os = main.REPLY = main.json = None", "exited with status 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "reason"), ENDS.values(), ids=ENDS.keys())
def test_a_grader_that_breaks_is_told_and_the_next_call_answered(body: str, reason: str) -> None:
    with Cage(grader(body), Limits(seconds=1, memory_bytes=256 << 20, output_bytes=64 << 10)) as cage:
        with pytest.raises(GraderError, match=reason):
            cage.grade({}, {})
        assert cage.grade({"harmless": True}, {}) == 0.25


def test_one_child_answers_all_calls() -> None:
    source = "calls = 0\ndef grade(sample, item):\n    global calls\n    calls += 1\n    return calls"
    with Cage(source) as cage:
        assert [cage.grade({}, {}) for _ in range(3)] == [1.0, 2.0, 3.0]


def test_an_error_of_the_grader_is_told_with_its_line() -> None:
    with Cage("def grade(sample, item):\n    return sample['score'] / item['of']") as cage:
        with pytest.raises(GraderError, match="line 2: KeyError: 'score'"):
            cage.grade({}, {})
        assert cage.grade({"score": 1}, {"of": 4}) == 0.25


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def grade(sample, item):\n    return (1", "line 2: SyntaxError: '\\(' was never closed"),
        ("def grade(sample, item):\nreturn 1", "line 2: IndentationError"),
        ("import nowhere", "line 1: ModuleNotFoundError"),
        ("def score(sample, item): return 1", "no function `grade"),
        ("grade = 1", "no function `grade"),
        ("x = 1\nopen('/etc/passwd')", "line 2: PermissionError"),
        ("-" * 200_000 + "1", "RecursionError|MemoryError|SIGSEGV|SyntaxError"),
        ("#" * (256 << 10) + "\n", "longer than 256 KiB"),
    ],
)
def test_a_source_that_does_not_run_is_told_at_once(source: str, reason: str) -> None:
    with pytest.raises(GraderError, match=reason):
        Cage(source)


@pytest.mark.parametrize("module", ["numpy", "rapidfuzz", "regex", "json, decimal, zoneinfo, difflib"])
def test_libraries_of_this_installation_can_be_imported(module: str) -> None:
    with Cage(f"import {module}\ndef grade(sample, item): return 1") as cage:
        assert cage.grade({}, {}) == 1.0


def test_it_has_no_secrets_and_no_open_files(victim: Victim) -> None:
    body = """
        def is_open(number):
            try: found = os.fstat(number)
            except OSError: return False
            return (found.st_dev, found.st_ino) not in %r
        return sum(map(is_open, range(4, 64))) + (%r in str(os.environ)) + ("HOME" in os.environ)
    """
    # Newer releases of libffi keep their own file open.
    libraries = {entry.path for entry in psutil.Process().memory_maps() if "/libffi" in entry.path}
    files = [(found.st_dev, found.st_ino) for found in map(os.stat, libraries)]
    with open(victim.folder / "secret") as kept, Cage(grader(body % (files, SECRET))) as cage:
        os.set_inheritable(kept.fileno(), True)
        assert cage.grade({}, {}) == 0.0


def test_nothing_runs_between_calls() -> None:
    """A grader that writes its answer itself and runs on is stopped."""
    body = """
        answer = sys.modules['__main__'].REPLY.pack(2, False, 0.5, 0)
        os.write(3, answer)
        while True: pass
    """
    with Cage(grader(body)) as cage:
        assert cage.grade({}, {}) == 0.5
        assert cage._child is not None
        process = psutil.Process(cage._child._process.pid)
        while process.status() != psutil.STATUS_STOPPED:
            pass


def test_it_ends_with_the_process_that_started_it() -> None:
    program = f"""
        import sys
        from trainer.grading.cage import Cage
        cage = Cage({grader("while True: pass")!r})
        print(cage._child._process.pid, flush=True)
        cage._limits = cage._limits.__class__(seconds=3600)
        cage.grade({{}}, {{}})
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    child.wait(30)
    assert not child.is_running()


def test_a_file_that_can_be_read_cannot_be_changed(tmp_path: Path) -> None:
    """Linux before 6.2 has no right in Landlock for what empties a file that was opened to be read."""
    file = tmp_path / "readable"
    file.write_text("kept")
    attack = f"""
        import os, sys
        sys.path.insert(0, {str(Path(wall.__file__).parent)!r})
        import wall
        wall.enclose([{str(tmp_path)!r}], 2 << 30, 64)
        assert open({str(file)!r}).read() == "kept"
        for flags in (os.O_WRONLY, os.O_RDWR, os.O_TRUNC, os.O_APPEND | os.O_WRONLY, os.O_CREAT):
            try:
                os.open({str(file)!r}, flags)
            except PermissionError as error:
                continue
            sys.exit(f"opened with {{flags}}")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(attack)], check=True)
    assert file.read_text() == "kept"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="it is machine code of x86-64")
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        # mov eax, 20 (getpid of 32-bit programs); int 0x80; ret
        ("b8 14 00 00 00 cd 80 c3", "SIGSYS"),
        # mov eax, 0x40000027 (getpid of x32); syscall; ret, whose -EPERM is told
        ("b8 27 00 00 40 0f 05 c3", "Operation not permitted"),
    ],
)
def test_other_numbers_of_system_calls_are_refused(code: str, reason: str) -> None:
    body = f"""
        import mmap
        page = mmap.mmap(-1, 4096, prot=7)
        page.write(bytes.fromhex({code!r}))
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        if result < 0: raise OSError(-result, os.strerror(-result))
    """
    with Cage(grader(body)) as cage, pytest.raises(GraderError, match=reason):
        cage.grade({}, {})


def test_several_threads_take_turns() -> None:
    source = "def grade(sample, item): return item['score']"
    with Cage(source) as cage, ThreadPoolExecutor(4) as threads:
        rows = [{"score": number} for number in range(200)]
        assert list(threads.map(lambda row: cage.grade({}, row), rows)) == list(range(200))


def test_a_system_that_cannot_enclose_is_told_and_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Under a filter that has no Landlock, as in some containers."""
    assert why_unavailable() is None
    source = "def grade(sample, item): return 0.5"
    without = tmp_path / "child.py"
    future = "from __future__ import annotations"
    without.write_text(cage.CHILD.read_text().replace(future, future + WITHOUT_LANDLOCK))
    (tmp_path / "wall.py").write_text(Path(wall.__file__).read_text())
    monkeypatch.setattr(cage, "CHILD", without)
    assert "Landlock" in str(why_unavailable())
    with pytest.raises(CageUnavailable, match="HONE_ALLOW_UNCAGED_GRADERS=1"):
        Cage(source)
    monkeypatch.setenv("HONE_ALLOW_UNCAGED_GRADERS", "1")
    with Cage(source) as uncaged:
        assert uncaged.grade({}, {}) == 0.5


# A seccomp filter that answers ENOSYS to the first call of Landlock.
WITHOUT_LANDLOCK = """
import ctypes, struct
code = b"".join(struct.pack("<HBBI", *part) for part in (
    (0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x50026), (0x06, 0, 0, 0x7FFF0000)))
kept = ctypes.create_string_buffer(code, len(code))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, struct.pack("@HP", 4, ctypes.addressof(kept)), 0, 0) == 0
"""
