"""Hone's kernels compute what torch computes, with every instruction set that this processor has."""

import ctypes

import pytest
import torch

from trainer.kernels import loss, native
from trainer.kernels.attention import _by_kernel, _rows
from trainer.kernels.few_rows import KERNEL, MOST_ROWS, few_rows
from trainer.kernels.gated import GATE, _gate_by_kernel, _gate_gradients_by_kernel
from trainer.kernels.install import uninstalled
from trainer.kernels.kernel_attention import Attention, attends, kernel_attention_class
from trainer.kernels.loss import SOFTMAX, labelled_loss_class, log_probability_class, softmax_by_kernel
from trainer.kernels.low_rank import (
    Constants,
    _add_up_by_kernel,
    _down_by_kernel,
    _gradient_by_kernel,
    low_rank_class,
    multiplies,
)
from trainer.kernels.norm import NORM, norm, norm_class, norm_gradient
from trainer.kernels.rotation import ROTATION, _is_usual, fuse_rotations, rotation, rotation_class
from trainer.kernels.row_attention import Kind
from trainer.tests.padding_free.test_padding_free import adapted
from trainer.tests.tiny import build_model, build_tokenizer

# Rows of one token, of several blocks and of whole vectors. The last but one continues 7 tokens of the third.
LENGTHS = [1, 57, 20, 3, 48]
SHARED = [0, 0, 0, 7, 0]
NEAR = {torch.float32: {"rtol": 1e-4, "atol": 1e-5}, torch.bfloat16: {"rtol": 3e-2, "atol": 3e-2}}


SETS = native.instruction_sets()
pytestmark = pytest.mark.skipif(not SETS, reason="the native addon is built where there is a compiler")


@pytest.fixture(params=SETS)
def instructions(request):
    """Uses one instruction set after another."""
    with native.using(request.param):
        yield request.param


@pytest.fixture(params=[torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def dtype(request):
    return request.param


def near(found, expected, dtype):
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours.float(), theirs.float(), **NEAR[dtype])


def test_a_kernel_of_another_version_is_not_used():
    class Larger(ctypes.Structure):
        _fields_ = (("more", ctypes.c_int64 * 40),)

    assert ROTATION.is_there()
    other = native.Kernel("rotation", Larger)
    assert not other.is_there() and not other.computes(torch.ones(1))
    assert not native.Kernel("rotations", ROTATION.operands).is_there()
    with pytest.raises(AttributeError, match="no kernel rotation"):
        other()


def test_the_best_set_is_used():
    assert native.instruction_set() == SETS[0]
    assert SETS[-1] == "base"


@pytest.mark.parametrize("size", [16, 64, 80])
@pytest.mark.parametrize(("causal", "shared"), [(True, False), (True, True), (False, False)])
@pytest.mark.parametrize("threads", [1, 3])
def test_attention_is_that_of_each_row_alone(instructions, dtype, size, causal, shared, threads):
    torch.manual_seed(0)
    tokens, kind = sum(LENGTHS), Kind(0.2, causal, None, 0.0)
    rows = _rows(LENGTHS, None, SHARED if shared else None)
    # Heads lie beside each other, as linear layers give them.
    given = [torch.randn(1, tokens, heads, size).to(dtype).transpose(1, 2) for heads in (4, 2, 2)]
    found = []
    before = torch.get_num_threads()
    for way in (
        lambda *parts: kernel_attention_class().apply(*parts, rows, kind),
        lambda *parts: _by_kernel(*(part.float() for part in parts), None, rows, kind),
    ):
        parts = [part.clone().requires_grad_() for part in given]
        assert attends(*parts)
        torch.set_num_threads(threads)
        try:
            answer = way(*parts)
            weight = torch.linspace(-1, 1, answer.numel()).view_as(answer).to(answer.dtype)
            found.append((answer, *torch.autograd.grad((answer * weight).sum(), parts)))
        finally:
            torch.set_num_threads(before)
    near(*found, dtype)


def test_queries_attend_to_the_keys_of_other_rows(instructions):
    torch.manual_seed(0)
    lengths, sources, kind = [5, 30], [40, 3], Kind(0.25, False, None, 0.0)
    rows = _rows(lengths, sources)
    shapes = ((1, 4, 35, 16), (1, 4, 43, 16), (1, 4, 43, 16))
    given = [torch.randn(shape).requires_grad_() for shape in shapes]
    ways = kernel_attention_class().apply(*given, rows, kind), _by_kernel(*given, None, rows, kind)
    near(*[(way, *torch.autograd.grad(way.sin().sum(), given)) for way in ways], torch.float32)


def test_rows_whose_first_one_is_asked_nothing_are_computed(instructions):
    torch.manual_seed(0)
    given = [torch.randn(1, heads, 30, 16) for heads in (4, 2, 2)]
    kind, rows = Kind(0.25, True, None, 0.0), _rows([20, 10], None, [0, 7])
    whole = kernel_attention_class().apply(*given, rows, kind)
    part = kernel_attention_class().apply(*given, rows[1:], kind)
    assert torch.equal(part[:, 20:], whole[:, 20:])


def test_queries_of_no_row_have_no_gradient(instructions):
    torch.manual_seed(0)
    given = [torch.randn(1, heads, 40, 16).requires_grad_() for heads in (4, 2, 2)]
    # The first 30 tokens of a row of 40 are asked nothing.
    rows = [type(_rows([40], None)[0])(slice(30, 40), (slice(0, 40),))]
    kind = Kind(0.25, True, None, 0.0)
    answer = kernel_attention_class().apply(*given, rows, kind)[:, 30:]
    whole = _by_kernel(*given, None, _rows([40], None), kind)[:, 30:]
    found, expected = (torch.autograd.grad(way.sin().sum(), given) for way in (answer, whole))
    near((answer, *found), (whole, *expected), torch.float32)
    assert not found[0][:, :, :30].any()


@pytest.mark.parametrize("count", [1, 15, 16, 3 * 2**14 + 5])
def test_a_gate_is_silu_times_the_other_half(instructions, dtype, count):
    torch.manual_seed(0)
    gates, ups, grad_output = (torch.randn(count).mul(3).to(dtype) for _ in range(3))
    active = torch.nn.functional.silu(gates)
    expected = active * ups, torch.ops.aten.silu_backward(grad_output * ups, gates), active * grad_output
    product = _gate_by_kernel(gates, ups)
    of_gates, of_ups = _gate_gradients_by_kernel(gates, ups, grad_output.clone(), torch.empty_like(gates))
    if dtype == torch.bfloat16:
        # Rounded where torch rounds.
        assert float((product != expected[0]).float().mean()) < 1e-3
        assert float((of_ups != expected[2]).float().mean()) < 1e-3
    near((product, of_gates, of_ups), expected, dtype)


@pytest.mark.parametrize("size", [5, 64, 200])
@pytest.mark.parametrize("added", [0.0, 1.0])
def test_a_norm_is_that_of_torch(instructions, dtype, size, added, monkeypatch):
    torch.manual_seed(0)
    shapes = (2, 9, size), (size,), (2, 9, size)
    x, weight, grad_output = (torch.randn(*shape).to(dtype) for shape in shapes)
    found = []
    for has_kernels in (True, False):
        monkeypatch.setattr(NORM, "computes", lambda *_, has_kernels=has_kernels: has_kernels)
        given = x.clone().requires_grad_()
        answer = norm_class().apply(given, weight, added, 1e-5)
        found.append((answer, *torch.autograd.grad(answer, given, grad_output)))
    near(*found, dtype)


@pytest.mark.parametrize("size", [32, 128])
def test_a_rotation_is_the_library_s(instructions, dtype, size):
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    torch.manual_seed(0)
    query, key = (torch.randn(1, 7, heads, size).to(dtype).transpose(1, 2) for heads in (4, 2))
    # Those of the halves differ, so that none is mistaken for the other.
    cosines, sines = (torch.randn(1, 7, size).to(dtype) for _ in range(2))
    found = []
    for way in (
        lambda *parts: [rotation_class().apply(part, cosines, sines) for part in parts],
        lambda *parts: apply_rotary_pos_emb(*parts, cosines, sines),
    ):
        parts = [part.clone().requires_grad_() for part in (query, key)]
        answers = way(*parts)
        weights = [torch.linspace(-1, 1, part.numel()).view_as(part).to(dtype) for part in parts]
        total = sum((answer * weight).sum() for answer, weight in zip(answers, weights, strict=True))
        found.append((*answers, *torch.autograd.grad(total, parts)))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)


def test_only_the_usual_rotation_is_replaced():
    from transformers.models.glm import modeling_glm
    from transformers.models.gpt_neox import modeling_gpt_neox
    from transformers.models.llama import modeling_llama

    # That of GLM rotates neighbours, that of GPT-NeoX a part of a head.
    kinds = modeling_llama, modeling_glm, modeling_gpt_neox
    usual = [_is_usual(kind.apply_rotary_pos_emb) for kind in kinds]
    assert usual[:2] == [True, False]
    model = adapted(build_model("llama", build_tokenizer()))
    fuse_rotations(model)
    layers = [module for module in model.modules() if type(module).__name__ == "LlamaAttention"]
    assert layers and all("forward" in vars(layer) for layer in layers)
    ids = torch.arange(12)[None]
    found = model(ids).logits
    with uninstalled(model):
        assert not any("forward" in vars(layer) for layer in layers)
        torch.testing.assert_close(found, model(ids).logits, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("vocab_size", [3, 64, 1001])
def test_what_logits_say_of_labels_is_what_torch_says(instructions, dtype, vocab_size, monkeypatch):
    torch.manual_seed(0)
    hidden, weight = torch.randn(50, 24).to(dtype), torch.randn(vocab_size, 24).to(dtype)
    labels, bias = torch.randint(0, vocab_size, (50,)), torch.randn(vocab_size).to(dtype)
    computes, found = SOFTMAX.computes, []
    for has_kernels in (True, False):
        monkeypatch.setattr(SOFTMAX, "computes", computes if has_kernels else lambda *_: False)
        given = hidden.clone().requires_grad_()
        loss, correct = labelled_loss_class().apply(given, weight, bias, 1.0, None, labels, 50)
        (of_loss,) = torch.autograd.grad(loss, given)
        said, figures = log_probability_class().apply(given, weight, bias, 1.0, None, labels, None)
        (of_said,) = torch.autograd.grad(said.sum(), given)
        found.append((loss, correct, of_loss, said, figures, of_said))
    near(*found, dtype)


@pytest.mark.parametrize("softcap", [None, 5.0])
def test_an_output_layer_that_is_trained_has_the_gradient_of_torch(monkeypatch, softcap):
    torch.manual_seed(0)
    # Several chunks of rows.
    monkeypatch.setattr(loss, "ROWS", 16)
    hidden, weight = torch.randn(50, 24).requires_grad_(), torch.randn(301, 24).requires_grad_()
    labels = torch.randint(0, 301, (50,))
    ours, _ = labelled_loss_class().apply(hidden, weight, None, 1.0, softcap, labels, 40)
    logits = hidden @ weight.T
    capped = logits if softcap is None else softcap * torch.tanh(logits / softcap)
    theirs = torch.nn.functional.cross_entropy(capped, labels, reduction="sum") / 40
    torch.testing.assert_close(ours, theirs)
    of_ours, of_theirs = (torch.autograd.grad(3 * value, [hidden, weight]) for value in (ours, theirs))
    torch.testing.assert_close(of_ours, of_theirs, rtol=1e-4, atol=1e-6)


def test_of_equal_logits_the_first_is_the_likeliest(instructions):
    logits = torch.tensor([[1.0, 2.0, 2.0], [3.0, 2.0, 3.0]])
    told = softmax_by_kernel(logits.clone(), torch.tensor([1, 2]), 0.0)
    assert told[4].tolist() == [1.0, 0.0]
    torch.testing.assert_close(told[1], logits.logsumexp(-1))


def test_what_is_no_number_stays_none(instructions, dtype):
    nan = torch.full((1, 32), float("nan"), dtype=dtype)
    ones = torch.ones_like(nan)
    assert _gate_by_kernel(nan, ones).isnan().all()
    assert norm(nan, ones[0], 0.0, 1e-5)[0].isnan().all()
    assert softmax_by_kernel(nan.clone(), torch.tensor([0]), 0.0)[1].isnan().all()
    given = [nan.view(1, 1, 2, 16)] * 3
    assert Attention(*given, [(slice(0, 2), slice(0, 0), slice(0, 2))], True, 0.25).forward()[0].isnan().all()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("tokens", "size", "outputs"), [(0, 32, 48), (1, 32, 48), (131, 64, 272), (96, 528, 16)]
)
def test_low_rank_products_are_those_of_float32(tokens, size, outputs, threads):
    rows, grad_output = (torch.randn(tokens, width).bfloat16() for width in (size, outputs))
    # A part of the low-rank products of several layers.
    low, found = torch.randn(tokens, 48).bfloat16()[:, 16:32], torch.zeros(tokens, 48).bfloat16()
    small, large = torch.randn(16, size).bfloat16(), torch.randn(outputs, 16).bfloat16()
    if not multiplies(rows, [16], outputs):
        assert native.instruction_set() != "avx512_bf16"
        # These kernels are compiled for AVX-512 BF16 alone; elsewhere torch computes the products.
        pytest.skip("this processor does not multiply bfloat16 with AVX-512")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        answer, of_rows = grad_output.clone(), rows.clone()
        _down_by_kernel(rows, small, True, 1.0, found[:, :16])
        _down_by_kernel(grad_output, large, False, 0.5, found[:, 32:])
        _add_up_by_kernel(answer, low, large, True, 2.0)
        _add_up_by_kernel(of_rows, low, small, False, 1.0)
        of_large = _gradient_by_kernel(low, grad_output, True, 2.0)
        of_small = _gradient_by_kernel(low, rows, False, 1.0)
    finally:
        torch.set_num_threads(before)
    rows, grad_output, low, small, large = (part.float() for part in (rows, grad_output, low, small, large))
    rounded = {"rtol": 1e-2, "atol": 1e-2}
    torch.testing.assert_close(found[:, :16].float(), rows @ small.t(), **rounded)
    torch.testing.assert_close(found[:, 32:].float(), grad_output @ large * 0.5, **rounded)
    assert not found[:, 16:32].any()
    torch.testing.assert_close(answer.float(), grad_output + 2 * low @ large.t(), **rounded)
    torch.testing.assert_close(of_rows.float(), rows + low @ small, **rounded)
    # Gradients are not rounded.
    torch.testing.assert_close(of_large, 2 * grad_output.t() @ low, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(of_small, low.t() @ rows, rtol=1e-5, atol=1e-4)


def test_layers_of_a_low_rank_have_the_same_gradients_with_torch(computed_by):
    torch.manual_seed(0)
    x = torch.randn(2, 21, 64).bfloat16().requires_grad_()
    layers = [[torch.randn(outputs, 64) / 8, None, torch.randn(16, 64) / 8] for outputs in (32, 96)]
    tensors = [*layers[0], torch.randn(32, 16), *layers[1], torch.randn(96, 16)]
    weights = [part if part is None else part.bfloat16() for part in tensors]
    adapters = [weights[at].float().requires_grad_() for at in (2, 3, 6, 7)]
    weights[2:4], weights[6:8] = adapters[:2], adapters[2:]
    answers = low_rank_class().apply(x, (Constants(2.0, None),) * 2, *weights)
    found = torch.autograd.grad(sum(answer.float().sin().sum() for answer in answers), [x, *adapters])
    wide = x.detach().float().requires_grad_()
    exact = [
        wide @ weights[at].float().t() + 2 * wide @ weights[at + 2].t() @ weights[at + 3].t() for at in (0, 4)
    ]
    expected = torch.autograd.grad(sum(answer.sin().sum() for answer in exact), [wide, *adapters])
    for ours, theirs in zip(found, expected, strict=True):
        similar = torch.nn.functional.cosine_similarity(ours.float().flatten(), theirs.flatten(), 0)
        assert similar > 0.999 and float(ours.float().norm() / theirs.norm()) == pytest.approx(1, rel=2e-2)


@pytest.mark.parametrize("label", [-100, -1, 7, 2**40])
def test_a_label_that_the_model_does_not_have_is_refused(label):
    logits = torch.randn(2, 7)
    before = logits.clone()
    with pytest.raises(IndexError, match="none of the model's 7 tokens"):
        softmax_by_kernel(logits, torch.tensor([0, label]), 1.0)
    assert torch.equal(logits, before)


def test_sizes_that_do_not_fit_are_refused_as_torch_refuses_them():
    ones, half = torch.ones, torch.bfloat16
    whole, part = slice(0, 4), slice(0, 0)
    given = [ones(1, heads, 4, 16) for heads in (4, 2, 2)]
    for wrong in (
        lambda: _gate_by_kernel(ones(16), ones(17)),
        lambda: _gate_by_kernel(ones(4, 4), ones(4, 4).t()),
        lambda: _gate_gradients_by_kernel(ones(16), ones(16), ones(15), ones(16)),
        lambda: norm(ones(2, 32), ones(16), 0.0, 1e-5),
        lambda: norm_gradient(ones(2, 32), ones(32), 0.0, ones(2, 1), ones(1, 32)),
        lambda: rotation(ones(1, 2, 4, 32), ones(1, 3, 32), ones(1, 3, 32), False),
        lambda: softmax_by_kernel(ones(2, 7), torch.tensor([0]), 0.0),
        lambda: Attention(*given, [(whole, part, slice(1, 5))], True, 1.0),
        lambda: Attention(*given, [(slice(0, 5), part, whole)], False, 1.0),
        lambda: Attention(*given, [(whole, part, slice(0, 3))], True, 1.0),
        lambda: Attention(*given[:2], ones(1, 2, 5, 16), [(whole, part, whole)], True, 1.0),
        lambda: Attention(ones(1, 3, 4, 16), *given[1:], [(whole, part, whole)], True, 1.0),
        lambda: _down_by_kernel(
            ones(2, 32, dtype=half), ones(16, 48, dtype=half), True, 1.0, ones(2, 16, dtype=half)
        ),
        lambda: _add_up_by_kernel(
            ones(2, 48, dtype=half), ones(2, 16, dtype=half), ones(32, 48, dtype=half), False, 1.0
        ),
        lambda: _gradient_by_kernel(ones(2, 16, dtype=half), ones(3, 32, dtype=half), False, 1.0),
        lambda: _gradient_by_kernel(ones(2, 16, dtype=half), ones(2, 32), False, 1.0),
    ):
        with pytest.raises(RuntimeError, match="do not fit together"):
            wrong()


def test_other_products_of_low_rank_are_left_to_torch():
    rows = torch.ones(4, 32).bfloat16()
    assert not multiplies(rows, [8], 32)
    assert not multiplies(rows, [16], 20)
    assert not multiplies(rows.t(), [16], 32)
    assert not multiplies(rows.float(), [16], 32)


def test_other_tensors_are_left_to_torch():
    half = torch.ones(1, 2, 4, 16, dtype=torch.float16)
    assert not GATE.computes(half)
    mixed = [torch.ones(1, 2, 4, 16), torch.ones(1, 2, 4, 16), torch.ones(1, 2, 4, 16, dtype=torch.bfloat16)]
    assert not attends(*mixed)
    assert not attends(*[torch.ones(1, 2, 4, 20)] * 3)
    assert not attends(*[torch.ones(1, 2, 16, 4).transpose(2, 3)] * 3)
    assert attends(*[torch.ones(1, 2, 4, 16)] * 3)


@pytest.mark.skipif("avx512_bf16" not in SETS, reason="the processor does not multiply bfloat16")
@pytest.mark.parametrize("rows", [1, 3, 8, 9, MOST_ROWS, MOST_ROWS + 1])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_few_rows_are_multiplied_as_torch_does(rows, threads, monkeypatch):
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(0)
    # Sizes that are no multiples of a tile, and a rank that is none of a vector.
    model = torch.nn.Sequential(torch.nn.Linear(96, 50), torch.nn.Linear(50, 64, bias=False)).bfloat16()
    adapted_model = get_peft_model(model, LoraConfig(r=5, lora_alpha=10, target_modules=["0"]))
    layers = adapted_model.base_model.model
    torch.nn.init.normal_(layers[0].lora_B["default"].weight)
    monkeypatch.setattr(native, "threads", lambda: threads)
    calls = []
    prepared = native.Kernel.prepared
    monkeypatch.setattr(
        native.Kernel, "prepared", lambda self, *given: calls.append(self) or prepared(self, *given)
    )
    x = torch.randn(rows, 1, 96).bfloat16()
    base, lora = layers[0].base_layer, layers[0]
    low = x.float() @ lora.lora_A["default"].weight.float().t()
    expected = (x.float() @ base.weight.float().t() + base.bias.float()) + 2.0 * low @ lora.lora_B[
        "default"
    ].weight.float().t()
    with torch.no_grad(), few_rows(adapted_model):
        near([lora(x)], [expected], torch.bfloat16)
        near([base(x)], [torch.nn.functional.linear(x, base.weight, base.bias)], torch.bfloat16)
        # Its columns are no multiple of 32.
        assert "forward" not in vars(layers[1])
    # The layer with what is added to it, and alone.
    assert calls == [KERNEL, KERNEL]
