"""Encloses this process for good, with mechanisms of the Linux kernel that need no privileges.

Landlock leaves it the files that it may read, a seccomp filter the system calls that computing takes, and
limits its memory and open files. All of it also holds for root. Only what a grader needs is allowed, so that
what is new in a kernel is refused. Names, sizes and times of files are not hidden: Landlock has no right for
them.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import signal
import struct

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
SECCOMP_MODE_FILTER = 2
ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSE = 0x00050000 | errno.EPERM

# The numbers of Landlock are those of every architecture.
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
LANDLOCK_RULE_PATH_BENEATH = 1
READ_FILE, READ_DIR = 1 << 2, 1 << 3
# Every right of the first version of Landlock, which the versions of later kernels know, too.
FILE_RIGHTS = (1 << 13) - 1

# AUDIT_ARCH_… and, for each system call, its number, from the kernel's tables.
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# fmt: off
X86_64 = {
    "read": 0, "write": 1, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8, "mmap": 9,
    "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15,
    "pread64": 17, "readv": 19, "writev": 20, "access": 21, "select": 23, "sched_yield": 24, "mremap": 25,
    "madvise": 28, "dup": 32, "dup2": 33, "nanosleep": 35, "getpid": 39, "exit": 60, "uname": 63, "fcntl": 72,
    "getcwd": 79, "readlink": 89, "gettimeofday": 96, "getrusage": 98, "sysinfo": 99, "times": 100,
    "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110, "sigaltstack": 131,
    "gettid": 186, "time": 201, "futex": 202, "sched_getaffinity": 204, "getdents64": 217,
    "restart_syscall": 219, "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230,
    "exit_group": 231, "openat": 257, "newfstatat": 262, "readlinkat": 267, "faccessat": 269, "pselect6": 270,
    "ppoll": 271, "dup3": 292, "getcpu": 309, "getrandom": 318, "statx": 332, "faccessat2": 439,
}
AARCH64 = {
    "getcwd": 17, "dup": 23, "dup3": 24, "fcntl": 25, "faccessat": 48, "openat": 56, "close": 57,
    "getdents64": 61, "lseek": 62, "read": 63, "write": 64, "readv": 65, "writev": 66, "pread64": 67,
    "pselect6": 72, "ppoll": 73, "readlinkat": 78, "newfstatat": 79, "fstat": 80, "exit": 93,
    "exit_group": 94, "futex": 98, "nanosleep": 101, "clock_gettime": 113, "clock_getres": 114,
    "clock_nanosleep": 115, "sched_getaffinity": 123, "sched_yield": 124, "restart_syscall": 128,
    "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "times": 153,
    "uname": 160, "getrusage": 165, "getcpu": 168, "gettimeofday": 169, "getpid": 172, "getppid": 173,
    "getuid": 174, "geteuid": 175, "getgid": 176, "getegid": 177, "gettid": 178, "sysinfo": 179, "brk": 214,
    "munmap": 215, "mremap": 216, "mmap": 222, "mprotect": 226, "madvise": 233, "getrandom": 278,
    "statx": 291, "faccessat2": 439,
}
# fmt: on
CALLS = {"x86_64": X86_64, "aarch64": AARCH64}
# Everything but reading: a file opened to be read can still be emptied by O_TRUNC.
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# The others set a pipe's size, or an owner that gets signals.
F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC = 0, 1, 2, 3, 1030


def enclose(readable: list[str], memory_bytes: int, open_files: int) -> None:
    """Encloses this process, which must have one thread, with what is below the paths `readable`.

    Raises:
        NotImplementedError: the kernel lacks a mechanism. The process is then enclosed in part or not.
    """
    machine = platform.machine()
    if machine not in CALLS or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise NotImplementedError(f"graders in Python cannot be enclosed on {machine} processors")
    libc = ctypes.CDLL(None, use_errno=True)
    for kind, limit in ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_NOFILE, open_files)):
        hard = resource.getrlimit(kind)[1]
        least = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (least, least))
    # Neither a program that it starts nor a dump of its memory gets more than it has.
    _prctl(libc, PR_SET_DUMPABLE, 0)
    _prctl(libc, PR_SET_NO_NEW_PRIVS, 1)
    _prctl(libc, PR_SET_PDEATHSIG, signal.SIGKILL)
    _leave_files(libc, readable)
    _filter_calls(libc, machine)
    _prove(libc)


def _prctl(libc: ctypes.CDLL, option: int, value: int, pointer: object = None) -> None:
    if libc.prctl(option, ctypes.c_ulong(value), pointer, 0, 0) != 0:
        raise NotImplementedError(f"the kernel refuses prctl({option}): {os.strerror(ctypes.get_errno())}")


def _leave_files(libc: ctypes.CDLL, readable: list[str]) -> None:
    """Takes the right to open files but those below `readable`, which can be read."""

    def call(number: int, *arguments: object) -> int:
        result: int = libc.syscall(ctypes.c_long(number), *arguments)
        if result < 0:
            why = os.strerror(ctypes.get_errno())
            raise NotImplementedError(f"Landlock, part of Linux since 5.13, is not there or off: {why}")
        return result

    handled = struct.pack("<Q", FILE_RIGHTS)
    rules = call(LANDLOCK_CREATE_RULESET, handled, ctypes.c_size_t(len(handled)), 0)
    for path in readable:
        if not os.path.exists(path):
            continue
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rights = READ_FILE | READ_DIR if os.path.isdir(path) else READ_FILE
        call(LANDLOCK_ADD_RULE, rules, LANDLOCK_RULE_PATH_BENEATH, struct.pack("<Qi", rights, parent), 0)
        os.close(parent)
    call(LANDLOCK_RESTRICT_SELF, rules, 0)
    os.close(rules)


def _filter_calls(libc: ctypes.CDLL, machine: str) -> None:
    """Refuses system calls but those of `CALLS`, of which `openat` only reads."""
    program = _program(ARCHITECTURES[machine], CALLS[machine])
    code = ctypes.create_string_buffer(b"".join(program), sum(map(len, program)))
    pointed = struct.pack("@HP", len(program), ctypes.addressof(code))
    _prctl(libc, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, pointed)


def _program(architecture: int, calls: dict[str, int]) -> list[bytes]:
    """The filter, in classic BPF. It reads struct seccomp_data: number, architecture, address and
    six arguments of 64 bits, in which an `int` comes first, as both architectures are little-endian."""

    def instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("<HBBI", code, if_true, if_false, value)

    def load(offset: int) -> bytes:
        return instruction(0x20, offset)

    def skip_unless(value: int, count: int) -> bytes:
        return instruction(0x15, value, 0, count)

    def answer(value: int) -> bytes:
        return instruction(0x06, value)

    def argument(index: int) -> int:
        return 16 + 8 * index

    plain = [number for name, number in calls.items() if name not in ("openat", "fcntl")]
    commands = (F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC)
    return [
        load(4),
        instruction(0x15, architecture, 1, 0),
        answer(KILL),
        load(0),
        *(part for number in plain for part in (skip_unless(number, 1), answer(ALLOW))),
        skip_unless(calls["openat"], 4),
        load(argument(2)),
        instruction(0x45, WRITING, 1, 0),
        answer(ALLOW),
        answer(REFUSE),
        skip_unless(calls["fcntl"], 1 + 2 * len(commands)),
        load(argument(1)),
        *(part for command in commands for part in (skip_unless(command, 1), answer(ALLOW))),
        answer(REFUSE),
    ]


def _prove(libc: ctypes.CDLL) -> None:
    """Tries what must not work: a system that takes the calls above may still enforce nothing."""
    child = libc.fork()
    if child == 0:
        os._exit(0)
    results = {
        "starts processes": child,
        "opens files": libc.open(b"/proc/self/status", os.O_RDONLY),
        "opens sockets": libc.socket(2, 1, 0),
    }
    through = [what for what, result in results.items() if result >= 0]
    if through:
        raise NotImplementedError(f"an enclosed process still {' and '.join(through)} on this system")
