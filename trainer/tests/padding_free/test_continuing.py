"""Prompts that are continued together, without padding, get the answers that the library gives them."""

import copy

import pytest
import torch

from trainer.kernels.few_rows import few_rows
from trainer.kernels.install import install_linear
from trainer.padding_free.continuing import (
    RandomSampler,
    continue_prompts,
    greedy,
    sampled,
    why_not_continued,
)
from trainer.padding_free.kept_rows import MORE_COLUMNS
from trainer.tests.padding_free.test_padding_free import some_model

LENGTHS = (31, 9, 20, 44, 1)
# Most tokens of each answer.
MOST = [20, 1, 30, 4 * MORE_COLUMNS + 40, 18]


def some_prompts():
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(8, 400, (length,), generator=generator).tolist() for length in LENGTHS]


def by_library(model, prompt, most, ends):
    """The library's greedy answer to a prompt alone."""
    ids = torch.tensor([prompt])
    given = {"attention_mask": torch.ones_like(ids), "max_new_tokens": most, "pad_token_id": 0}
    return model.generate(input_ids=ids, do_sample=False, eos_token_id=ends, **given)[
        0, len(prompt) :
    ].tolist()


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gemma3", "gpt2", "mistral"])
def test_greedy_answers_are_those_of_the_library(kind):
    model, prompts = some_model(kind), some_prompts()
    usual = copy.deepcopy(model)
    install_linear(model, "cpu")
    assert why_not_continued(model, prompts, "float32") is None
    whole = [by_library(usual, prompt, most, [499]) for prompt, most in zip(prompts, MOST, strict=True)]
    assert continue_prompts(model, prompts, most=MOST, ends=[499], sampler=greedy) == whole
    # One ends at once, others somewhere.
    ends = [whole[0][0], whole[3][7], whole[4][-1]]
    expected = [by_library(usual, prompt, most, ends) for prompt, most in zip(prompts, MOST, strict=True)]
    assert len(expected[0]) == 1 and len(expected[3]) <= 8
    assert continue_prompts(model, prompts, most=MOST, ends=ends, sampler=greedy) == expected
    continue_prompts(model.train(), prompts[:1], most=[1], ends=[], sampler=greedy)
    assert model.training


def test_answers_in_bfloat16_are_as_likely_as_those_of_the_library():
    model, prompts = some_model("llama"), some_prompts()
    exact = copy.deepcopy(model)
    model.to(torch.bfloat16)
    install_linear(model, "cpu")
    assert why_not_continued(model, prompts, "bfloat16") is None
    answers = continue_prompts(model, prompts, most=MOST, ends=[], sampler=greedy)
    assert [len(answer) for answer in answers] == MOST
    for prompt, answer in zip(prompts, answers, strict=True):
        logits = exact(input_ids=torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1].float()
        chosen = logits.gather(1, torch.tensor(answer)[:, None])[:, 0]
        # Where two tokens are about as likely, rounding decides.
        assert bool((chosen >= logits.max(-1).values - 0.05 * logits.std()).all())


@pytest.mark.parametrize("kind", ["gemma2", "bloom"])
def test_a_model_that_would_continue_otherwise_stays_as_it_is_and_says_why(kind):
    model = some_model(kind)
    before = model.get_base_model().config._attn_implementation
    assert why_not_continued(model, some_prompts(), "float32").startswith("the ")
    assert model.get_base_model().config._attn_implementation == before


def test_settings_that_change_probabilities_are_left_to_the_library():
    model = some_model("llama")
    model.generation_config.repetition_penalty = 1.1
    assert "repetition_penalty" in why_not_continued(model, some_prompts(), "float32")
    assert why_not_continued(model, some_prompts(), "float32", ("repetition_penalty",)) is None


def test_copies_of_a_prompt_are_drawn_apart_and_by_their_probabilities():
    model, prompts = some_model("llama"), some_prompts()[:2]
    assert why_not_continued(model, prompts, "float32") is None
    torch.manual_seed(4)
    answers = continue_prompts(
        model, prompts, copies=[600, 200], most=[1, 3], ends=[], sampler=RandomSampler(800)
    )
    assert {len(answer) for answer in answers[:600]} == {1} and {len(a) for a in answers[600:]} == {3}
    logits = model(input_ids=torch.tensor([prompts[0]])).logits[0, -1].detach().float()
    shares = logits.softmax(-1)
    counts = torch.bincount(torch.tensor([answer[0] for answer in answers[:600]]), minlength=len(shares))
    likely = shares.argsort(descending=True)[:40]
    expected = 600 * shares[likely].sum()
    assert abs(counts[likely].sum() - expected) < 5 * expected.sqrt()
    assert len(set(map(tuple, answers[600:]))) > 190


def test_what_is_drawn_does_not_depend_on_which_others_are_left():
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(1))
    torch.manual_seed(2)
    every = RandomSampler(3)(logits, [0, 1, 2])
    torch.manual_seed(2)
    assert torch.equal(RandomSampler(3)(logits[[2, 0]], [2, 0]), every[[2, 0]])
    shares = torch.tensor([[0.5, 0.0, 0.25, 0.25]])
    numbers = torch.tensor([[0.0], [0.499], [0.5], [0.749], [0.75], [0.9999]], dtype=torch.float64)
    assert sampled(shares.expand(6, -1), numbers).tolist() == [0, 0, 2, 2, 3, 3]


def test_layers_are_quick_for_a_few_rows_only_meanwhile():
    model = some_model("llama")
    layers = [module for module in model.modules() if type(module) is torch.nn.Linear]
    states = [torch.randn(count, 1, layer.in_features) for layer in layers for count in (1, 17)]
    usual = [layer(x) for layer, x in zip(sorted(layers * 2, key=layers.index), states, strict=True)]
    with pytest.raises(KeyError), torch.no_grad(), few_rows(model):
        assert all("forward" in vars(layer) for layer in layers)
        for layer, x, expected in zip(sorted(layers * 2, key=layers.index), states, usual, strict=True):
            torch.testing.assert_close(layer(x), expected)
        raise KeyError
    assert not any("forward" in vars(module) for module in model.modules())
