"""Batches in parts of similar length have the loss and gradients of the whole batch."""

import pytest
import torch

from trainer.padding_free.length_groups import PASS_TOKENS, groups_of, parts_of
from trainer.tests.padding_free.test_padding_free import gradients
from trainer.tests.tiny import build_model, build_tokenizer

# Tokens of sources and targets: uneven, of one token, one of each long.
LENGTHS = ((90, 3), (5, 1), (12, 40), (1, 2), (80, 5), (6, 1))


def padded(rows, filler):
    width = max(map(len, rows))
    return torch.tensor([row + [filler] * (width - len(row)) for row in rows])


def some_batch(size=400, lengths=LENGTHS):
    generator = torch.Generator().manual_seed(1)

    def tokens(count):
        return torch.randint(8, size, (count,), generator=generator).tolist()

    sources, targets = zip(*((tokens(source), tokens(target)) for source, target in lengths), strict=True)
    return {
        "input_ids": padded(sources, 0),
        "attention_mask": padded([[1] * len(source) for source in sources], 0),
        "labels": padded(targets, -100),
    }


def test_rows_are_grouped_where_that_costs_less_than_their_padding():
    assert groups_of([(10, 2)] * 5) == [[0, 1, 2, 3, 4]]
    assert groups_of([(10, 2), (500, 90), (12, 2), (490, 80)]) == [[1, 3], [2, 0]]
    near = 10 + PASS_TOKENS
    assert groups_of([(10, 0), (near - 1, 0)]) == [[1, 0]] and groups_of([(10, 0), (near + 1, 0)]) == [
        [1],
        [0],
    ]
    assert sorted(row for group in groups_of(list(LENGTHS)) for row in group) == list(range(len(LENGTHS)))


def test_parts_have_all_rows_and_little_padding():
    batch = some_batch()
    parts = parts_of(batch)
    assert len(parts) > 2
    real = sum(source for source, _ in LENGTHS)
    assert sum(int(part["attention_mask"].sum()) for part in parts) == real
    assert sum(part["input_ids"].numel() for part in parts) < 1.3 * real < batch["input_ids"].numel() / 2
    assert sum(int((part["labels"] != -100).sum()) for part in parts) == sum(count for _, count in LENGTHS)


# The second fill most of the width, so that their last positions are tokens before and after the turn.
@pytest.mark.parametrize("lengths", [LENGTHS, ((90, 3), (60, 5), (50, 4))])
def test_a_batch_with_padding_before_its_rows_stays_whole(lengths):
    batch = some_batch(lengths=lengths)
    turned = {name: value.flip(1) for name, value in batch.items()}
    assert parts_of(turned) == [turned]


@pytest.mark.parametrize("kind", ["t5", "bart"])
@pytest.mark.parametrize("half", [False, True])
def test_parts_have_the_loss_and_gradients_of_their_batch(kind, half):
    # Without dropout, which draws by shape.
    model = build_model(kind, build_tokenizer(sequence_ends=True)).eval()
    model = model.to(torch.bfloat16) if half else model
    batch = some_batch()
    expected = model(**batch).loss
    total = int((batch["labels"] != -100).sum())
    parts = [(part, int((part["labels"] != -100).sum()) / total) for part in parts_of(batch)]
    loss = sum(model(**part).loss * share for part, share in parts)
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-2 if half else 1e-5)
    theirs, ours = gradients(model, expected), gradients(model, loss)
    for name, gradient in theirs.items():
        if half:
            if float(gradient.norm()) > 1e-2:
                similar = torch.nn.functional.cosine_similarity(
                    ours[name].flatten(), gradient.flatten(), dim=0
                )
                assert similar > 0.98, name
        else:
            torch.testing.assert_close(ours[name], gradient, rtol=1e-3, atol=1e-5)
