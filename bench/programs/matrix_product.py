"""What this machine multiplies: `python matrix_product.py SECONDS TOKENS HIDDEN INNER VOCABULARY`.

Prints the operations per second of CPU time, in units of 1e9, of the products of a model's layers and of its output layer,
in float32 and bfloat16, each measured for SECONDS.
"""

import json
import sys
import time

import torch

seconds, (tokens, hidden, inner, vocabulary) = (
    float(sys.argv[1]),
    map(int, sys.argv[2:]),
)
# Of a layer: queries and outputs, gate and up, down; then the output layer, for a third of the tokens.
SHAPES = [
    *[(tokens, hidden, hidden)] * 2,
    *[(tokens, hidden, inner)] * 2,
    (tokens, inner, hidden),
    (tokens // 3, hidden, vocabulary),
]


def rate(kind: torch.dtype) -> float:
    """Operations per nanosecond of CPU time."""
    pairs = [
        (torch.randn(rows, size).to(kind), torch.randn(out, size).to(kind))
        for rows, size, out in SHAPES
    ]
    # Kernels are selected at the first call.
    for rows, weight in pairs:
        torch.nn.functional.linear(rows, weight)
    rounds, begun = 0, time.process_time()
    while (spent := time.process_time() - begun) < seconds or rounds == 0:
        for rows, weight in pairs:
            torch.nn.functional.linear(rows, weight)
        rounds += 1
    return (
        rounds * sum(2 * rows * size * out for rows, size, out in SHAPES) / spent / 1e9
    )


with torch.inference_mode():
    print(
        json.dumps({"float32": rate(torch.float32), "bfloat16": rate(torch.bfloat16)})
    )
