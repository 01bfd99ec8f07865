"""Quantizes with gguf-py, or compares the tensors of GGUF files.

usage: gguf_tensors.py GGUF_PY quantize INPUT OUTPUT   quantize the matrices to Q8_0, print time and digest
       gguf_tensors.py GGUF_PY digest FILE             print the digest of a file's matrices
       gguf_tensors.py GGUF_PY distance FILE FILE      print the distance between their matrices
"""

import hashlib
import json
import os
import sys
import time

import numpy as np

sys.path.insert(0, sys.argv[1])
from gguf import GGMLQuantizationType, GGUFReader
from gguf.quants import dequantize, quantize


def digest(tensors: dict) -> str:
    """One digest of the bytes of all tensors, by name."""
    whole = hashlib.sha256()
    for name in sorted(tensors):
        whole.update(name.encode())
        whole.update(tensors[name].tobytes())
    return whole.hexdigest()


def distance(first: str, second: str) -> float:
    """The largest relative distance (Frobenius norm) of tensors with the same name; infinite if the names differ."""
    ours, theirs = (
        {t.name: t for t in GGUFReader(file).tensors} for file in (first, second)
    )
    if set(ours) != set(theirs):
        return float("inf")
    largest = 0.0
    for name, tensor in ours.items():
        mine, other = (
            dequantize(t.data, t.tensor_type) for t in (tensor, theirs[name])
        )
        largest = max(
            largest, float(np.linalg.norm(mine - other) / np.linalg.norm(other))
        )
    return largest


mode, file = sys.argv[2:4]
if mode == "distance":
    print(json.dumps({"distance": distance(file, sys.argv[4])}))
    sys.exit()
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
