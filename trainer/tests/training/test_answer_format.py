"""Answers that are held to a schema: each fits it, and what is trained is what is sampled."""

import json
from types import SimpleNamespace

import jsonschema
import pytest
import torch

from trainer.kernels.install import install_linear
from trainer.kernels.loss import unpacked
from trainer.padding_free.answers import token_log_probabilities
from trainer.padding_free.continuing import RandomSampler, continue_prompts, why_not_continued
from trainer.padding_free.pairs import make_pairs_padding_free
from trainer.protocol.failures import Failure
from trainer.tests import jobs, tiny
from trainer.tests.padding_free.test_padding_free import PLAIN, gradients, some_model
from trainer.tests.padding_free.test_pairs import some_pairs
from trainer.tests.training import sums
from trainer.training.rewards.answer_format import AnswerFormat

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 99}, "b": {"enum": ["x", "yes", None]}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
MOST = 80


def named(schema):
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def held_to(schema, model, stops=("</s>", "<s>")):
    """The format of a job with this schema, and its tokenizer; two tokens may end an answer."""
    tokenizer = tiny.build_tokenizer(model.get_output_embeddings().weight.shape[0] - 3)
    job = SimpleNamespace(
        tokenizer=tokenizer,
        template=SimpleNamespace(stop=stops),
    )
    return AnswerFormat(job, model, schema), tokenizer


@pytest.mark.parametrize("kind", ["llama", "gemma3", "gpt2"])
def test_what_is_trained_is_the_distribution_that_is_sampled(kind):
    model = some_model(kind)
    install_linear(model, "cpu")
    assert make_pairs_padding_free(model, some_pairs(), PLAIN) is None
    form, tokenizer = held_to(SCHEMA, model)
    prompts = [[11, 12, 13], [14, 15, 16, 17, 18]]
    assert why_not_continued(model, prompts, "float32") is None
    sampled: dict[int, list[torch.Tensor]] = {}
    inner = RandomSampler(8)

    def watched(logits, rows):
        tokens = inner(logits, rows)
        for at, row in enumerate(rows):
            sampled.setdefault(row, []).append(logits[at].log_softmax(-1)[tokens[at]])
        return tokens

    torch.manual_seed(4)
    ends = [tokenizer.convert_tokens_to_ids(stop) for stop in ("</s>", "<s>")]
    answers = continue_prompts(
        model, prompts, copies=[4, 4], most=[MOST] * 2, ends=ends, sampler=form.sampler(watched, 8)
    )
    ended = [answer[:-1] for answer in answers if answer[-1] in ends]
    for answer in ended:
        jsonschema.validate(json.loads(tokenizer.decode(answer)), SCHEMA)
    assert len(ended) > 2 and {answer[-1] for answer in answers} >= set(ends)

    rows = [[*prompts[at // 4], *answer] for at, answer in enumerate(answers)]
    lengths = [len(prompts[at // 4]) for at in range(8)]
    allowed = form.allowed(answers)
    found, told = token_log_probabilities(model.get_base_model(), rows, lengths, True, allowed)
    expected = torch.cat([torch.stack(sampled[row]) for row in range(8)])
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)

    plain = []
    for row, length in zip(rows, lengths, strict=True):
        plain.append(model(input_ids=torch.tensor([row]), use_cache=False).logits[0, length - 1 : -1].float())
    logits = torch.cat(plain)
    every = logits.masked_fill(~unpacked(allowed, logits.shape[1]), -torch.inf).log_softmax(-1)
    labels = torch.tensor([token for answer in answers for token in answer])
    theirs = every.gather(1, labels[:, None])[:, 0]
    torch.testing.assert_close(found, theirs, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(told[0], torch.special.entr(every.exp()).sum(-1), rtol=1e-3, atol=1e-4)
    weights = torch.linspace(-1, 1, len(found))
    ours, alone = (gradients(model, (each * weights).sum()) for each in (found, theirs))
    assert len(ours) > 8
    for name, gradient in alone.items():
        torch.testing.assert_close(ours[name], gradient, rtol=1e-3, atol=1e-5)


def test_a_schema_that_cannot_be_held_is_refused_by_its_reason():
    with pytest.raises(Failure, match="Unimplemented keys"):
        held_to({"type": "array", "uniqueItems": True}, some_model("llama"))


@pytest.fixture(scope="session")
def base(tmp_path_factory):
    return sums.build(tmp_path_factory.mktemp("sums"))


def test_answers_of_a_training_fit_the_schema(base, tmp_path):
    """Numbers that the model would not say, of which it learns the larger ones."""
    large = {"type": "hone_regex", "name": "large", "input": "{{sample.output_text}}", "pattern": "^[6-9]"}
    settings = {"graders": [{"grader": large, "weight": 1}], "per_device_train_batch_size": 64}
    settings |= {"max_answer_tokens": 6, "kl_beta": 0.001, "learning_rate": 3e-3, "group_size": 8}
    schema = {"type": "integer", "minimum": 10, "maximum": 99}
    spec = jobs.make(
        tmp_path,
        base,
        sums.sums(),
        {"strategy": "grpo"},
        response_format=named(schema),
        max_steps=20,
        eval_split=0.2,
        eval_steps=10,
        **settings,
    )
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    shown = [line["text"] for line in jobs.journal(spec, "sample")]
    assert len(shown) >= 9 and all(10 <= int(text) <= 99 for text in shown), shown
    rewards = [line["extra"]["reward"] for line in jobs.journal(spec, "metric")]
    assert sum(rewards[-5:]) > sum(rewards[:5]) + 0.5
    assert all(line["extra"]["kl"] >= 0 for line in jobs.journal(spec, "metric"))
