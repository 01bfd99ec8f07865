"""Runs a program and writes to file descriptor 3 what the operating system accounts to it.

`wait4` gives the processor time of the process and of all its descendants that were waited for, and the
largest resident set that any single one of them had: exact, without sampling. The wrapper's own imports are
small, because a child's peak begins with the size of the process that started it.
"""

import os
import sys
import time

begun = time.perf_counter()
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
wall = time.perf_counter() - begun
peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
code = os.waitstatus_to_exitcode(status)
os.write(3, f"{wall} {usage.ru_utime + usage.ru_stime} {peak} {code}".encode())
