"""Quantizes with gguf-py, or tells what a GGUF holds.

usage: gguf_tensors.py GGUF_PY quantize INPUT OUTPUT   quantize the matrices to Q8_0, print time and digest
       gguf_tensors.py GGUF_PY digest FILE             print the digest of a file's matrices
"""

import hashlib
import json
import os
import sys
import time

sys.path.insert(0, sys.argv[1])
from gguf import GGMLQuantizationType, GGUFReader
from gguf.quants import quantize


def digest(tensors: dict) -> str:
    """One digest of the bytes of all tensors, by name."""
    whole = hashlib.sha256()
    for name in sorted(tensors):
        whole.update(name.encode())
        whole.update(tensors[name].tobytes())
    return whole.hexdigest()


mode, file = sys.argv[2:4]
matrices = {
    t.name: t.data.copy() for t in GGUFReader(file).tensors if len(t.shape) == 2
}
if mode == "quantize":
    begun = time.process_time()
    written = {}
    with open(sys.argv[4], "wb") as out:
        for name, matrix in matrices.items():
            written[name] = quantize(matrix, GGMLQuantizationType.Q8_0)
            written[name].tofile(out)
        out.flush()
        os.fsync(out.fileno())
    seconds = time.process_time() - begun
    print(json.dumps({"cpu_seconds": seconds, "digest": digest(written)}))
else:
    print(json.dumps({"digest": digest(matrices)}))
