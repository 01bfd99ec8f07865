"""Exports a trained job in this process: `python export_hone.py SPEC`; prints its peak resident memory."""

import json
import resource
import sys

from trainer.run import export

code = export(sys.argv[1])
# In KiB on Linux, in bytes on macOS: getrusage(2).
unit = 1 if sys.platform == "darwin" else 1024
print(
    "\n"
    + json.dumps(
        {"peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit}
    )
)
sys.exit(code)
