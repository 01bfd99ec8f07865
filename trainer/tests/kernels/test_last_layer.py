"""The last layer computes what learned tokens need, and nothing else."""

import copy
from itertools import chain

import pytest
import torch

from trainer.kernels import gated, lora
from trainer.kernels.install import install, install_linear
from trainer.kernels.last_layer import is_narrow
from trainer.padding_free.padding_free import make_padding_free, padding_free_loss
from trainer.tests.padding_free.test_padding_free import (
    LENGTHS,
    PLAIN,
    assert_same_gradients,
    gradients,
    rows_of,
    some_model,
)


def flat(learned):
    """One batch of the rows, of which the last `learned[i]` tokens are learned."""
    rows = [row["input_ids"] for row in rows_of()]
    labels = [
        [-100] * (len(row) - count) + row[len(row) - count :]
        for row, count in zip(rows, learned, strict=True)
    ]
    return {
        "input_ids": torch.tensor([list(chain.from_iterable(rows))]),
        "position_ids": torch.tensor([[place for row in rows for place in range(len(row))]]),
        "labels": torch.tensor([list(chain.from_iterable(labels))]),
    }


@pytest.mark.parametrize("checkpointed", [False, True])
@pytest.mark.parametrize("kind", ["llama", "qwen3"])
def test_losses_and_gradients_are_those_of_a_whole_last_layer(kind, checkpointed):
    model = some_model(kind)
    install(model, "cpu")
    assert make_padding_free(model, rows_of(), PLAIN) is None
    assert is_narrow(model.get_base_model())
    whole = copy.deepcopy(model)
    for module in whole.modules():
        vars(module).pop("used", None)
    install_linear(whole, "cpu")
    assert not is_narrow(whole)
    found = []
    # Of the second row nothing is learned.
    for learned in ([3, 0, 9], [1, 0, 0], LENGTHS):
        batch = flat([*learned, *[2] * len(LENGTHS)][: len(LENGTHS)])
        for which in (model, whole):
            if checkpointed:
                which.gradient_checkpointing_enable()
                which.enable_input_require_grads()
                which.train()
            loss, number, _ = padding_free_loss(which.get_base_model(), batch, None)
            found.append((float(loss.detach()), int(number), gradients(which, loss)))
    for (mine, count, ours), (theirs, number, expected) in zip(found[::2], found[1::2], strict=True):
        assert count == number
        assert mine == pytest.approx(theirs, rel=1e-6)
        assert_same_gradients(ours, expected)


def test_other_tokens_are_not_computed(monkeypatch):
    model = some_model("llama")
    install(model, "cpu")
    assert make_padding_free(model, rows_of(), PLAIN) is None
    counts = {"output": [], "feed-forward": []}
    for name, module in (("output", lora), ("feed-forward", gated)):
        forward = module.forward

        def counted(self, x, name=name, forward=forward, *args, **kwargs):
            counts[name].append(x.shape[-2])
            return forward(self, x, *args, **kwargs)

        monkeypatch.setattr(module, "forward", counted)
    tokens = sum(LENGTHS)
    padding_free_loss(model.get_base_model(), flat([4] * len(LENGTHS)), None)
    assert counts["output"][-1] == counts["feed-forward"][-1] == 4 * len(LENGTHS)
    counts["feed-forward"].clear()
    with torch.no_grad():
        model(input_ids=torch.tensor([list(range(8, 8 + tokens % 50))]))
    assert counts["feed-forward"][-1] == tokens % 50


@pytest.mark.parametrize("kind", ["gpt2", "gemma3"])
def test_layers_of_another_kind_stay_whole(kind):
    model = some_model(kind)
    install(model, "cpu")
    assert not is_narrow(model)
