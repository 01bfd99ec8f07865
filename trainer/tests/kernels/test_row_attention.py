"""Attention by rows is that of each row alone, in every kind, forward and backward."""

import pytest
import torch

from trainer.kernels import row_attention
from trainer.kernels.attention import _by_kernel, _rows
from trainer.kernels.row_attention import Kind, row_attention_class

# Rows of one token, of several blocks, and one that fills blocks to the last token.
LENGTHS = [1, 37, 20, 3, 16]
SOURCES = [9, 1, 40, 5, 16]
# The last but one continues 7 tokens of the third.
SHARED = [0, 0, 0, 7, 0]


def tensors(kind, sources, dtype=torch.float32):
    torch.manual_seed(0)
    tokens, width = sum(LENGTHS), sum(sources or LENGTHS)
    shapes = ((1, 4, tokens, 16), (1, 2, width, 16), (1, 2, width, 16))
    return [torch.randn(shape).to(dtype).requires_grad_() for shape in shapes]


@pytest.mark.parametrize(
    ("causal", "window", "shared", "biased", "crossed"),
    [
        (True, None, False, False, False),
        (True, None, True, False, False),
        (True, 6, True, False, False),
        (True, None, False, True, False),
        (False, None, False, True, False),
        (False, None, False, False, False),
        (False, None, False, False, True),
    ],
)
@pytest.mark.parametrize("kept", [True, False])
def test_products_give_what_the_kernel_gives(monkeypatch, causal, window, shared, biased, crossed, kept):
    monkeypatch.setattr(row_attention, "BLOCK", 16)
    row_attention._mask.cache_clear()
    if not kept:
        monkeypatch.setattr(row_attention, "LONGEST_KEPT", 4)
    kind = Kind(0.3, causal, window, 0.0)
    sources = SOURCES if crossed else None
    rows = _rows(LENGTHS, sources, SHARED if shared else None)
    bias = torch.randn(4, max(LENGTHS), max(LENGTHS)) if biased else None
    found = []
    for way in (row_attention_class().apply, _by_kernel):
        given = tensors(kind, sources)
        answer = way(*given, bias, rows, kind)
        weight = torch.linspace(-1, 1, answer.numel()).view_as(answer)
        found.append((answer, *torch.autograd.grad((answer * weight).sum(), given)))
    row_attention._mask.cache_clear()
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_row_that_drops_probabilities_drops_the_same_in_its_gradient():
    torch.manual_seed(0)
    query, key, value = tensors(None, None)
    kind, rows = Kind(0.25, False, None, 0.5), _rows(LENGTHS, None)

    def answer(value):
        torch.manual_seed(1)
        return row_attention_class().apply(query, key, value, None, rows, kind)

    whole = answer(value)
    # Linear in the values: what is dropped is the same with the same seed.
    (slope,) = torch.autograd.grad(whole.sum(), value)
    step = torch.randn_like(value)
    changed = float((answer(value + step) - whole).sum().detach())
    assert changed == pytest.approx(float((slope * step).sum()), rel=1e-3)
    kept = row_attention_class().apply(query, key, value, None, rows, Kind(0.25, False, None, 0.0))
    assert float((kept - whole).detach().abs().max()) > 0.1
