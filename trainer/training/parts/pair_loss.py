"""DPO's losses of pairs without padding, with references that are computed once.

Imports transformers; import it inside functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from transformers import TrainerCallback

from trainer.libraries.peft import without_adapter
from trainer.libraries.trl import add_tokens, figures_of, tokens_of
from trainer.padding_free.pairs import answer_log_probabilities, collate
from trainer.training.parts.part import Batch, Loss, Part, training_precision
from trainer.training.references import References
from trainer.training.shared_batches import Blank

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor
    from transformers import PreTrainedModel, TrainerControl, TrainerState, TrainingArguments


class AgainstBase(Part):
    """Keeps what the base model says of answers in `base_references`.

    `again` says whether a row is trained on more than once, so that its references are worth keeping; those
    of held-out rows are kept in any case.
    """

    base_references: References
    again: bool

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.add_callback(_ShareReferences(self.base_references))

    def of_base(
        self, model: PreTrainedModel, inputs: dict[str, Any], answers: Callable[..., tuple[Any, ...]]
    ) -> Tensor:
        """The references (rows, answers) of a batch, whose log-probabilities `answers` computes."""
        unwrapped = self.accelerator.unwrap_model(model)
        # The probe's batches and those that only fill up a step are no part of the training.
        counts = self.is_in_train and not isinstance(inputs, Blank)

        def reference() -> Tensor:
            # It is kept, so nothing may be dropped out of it.
            training = unwrapped.training
            unwrapped.eval()
            try:
                with torch.no_grad(), unwrapped.disable_adapter(), training_precision(self.args):
                    return answers(without_adapter(unwrapped), inputs, figures=False)[0]
            finally:
                unwrapped.train(training)

        keeps = counts and (self.again or not model.training)
        return self.base_references.of(inputs["keys"], reference, keeps)


class PairLoss(AgainstBase):
    """Takes the batches of `collate`. Logs what TRL's DPO trainer does."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        # The library's has set the padding token before, which generation needs.
        self.data_collator = collate

    def loss_of(self, batch: Batch) -> Loss:
        inputs = batch.inputs
        of_base = self.of_base(batch.model, inputs, answer_log_probabilities)
        log_probabilities, sums, counted = self.computed(answer_log_probabilities, batch)
        assert sums is not None
        ratios = log_probabilities - of_base.to(log_probabilities.device)
        lengths = inputs["lengths"][:, 1:].to(ratios.device)
        terms = zip(self.loss_types, self.loss_weights, strict=True)
        loss = sum(weight * LOSSES[kind](self, log_probabilities, ratios, lengths) for kind, weight in terms)
        self._note(batch, log_probabilities.detach(), ratios.detach(), sums, counted)
        return loss, {}

    def _note(self, batch: Batch, answers: Tensor, ratios: Tensor, sums: Tensor, counted: list[int]) -> None:
        """Adds the figures of a batch by the library's names."""
        training = batch.model.training
        if training:
            # Each answer with its prompt, as the library counts.
            lengths = batch.inputs["lengths"]
            add_tokens(self, int(lengths.sum() + lengths[:, 0].sum()))
        parts = torch.stack([part.sum(1) for part in sums.split(counted, dim=1)]).view(-1, 2, 3).sum(0)
        rewards = self.beta * ratios
        margins = rewards[:, 0] - rewards[:, 1]
        kinds = [parts.flatten(), answers.mean(0), rewards.mean(0)]
        found = torch.cat([*kinds, margins.mean()[None], (margins > 0).float().mean()[None]]).tolist()
        number, other = (max(1, sum(counted[side::2])) for side in (0, 1))
        figures = figures_of(self, training)
        assert figures is not None
        figures["num_tokens"] = [tokens_of(self)]
        for name, value in {
            "entropy": (found[0] + found[3]) / (number + other),
            "logits/chosen": found[1] / number,
            "logits/rejected": found[4] / other,
            "mean_token_accuracy": found[2] / number,
            "rewards/chosen": found[8],
            "rewards/rejected": found[9],
            "rewards/accuracies": found[11],
            "rewards/margins": found[10],
            "logps/chosen": found[6],
            "logps/rejected": found[7],
        }.items():
            figures[name].append(value)


def _sigmoid(part: PairLoss, answers: Tensor, ratios: Tensor, lengths: Tensor) -> Tensor:
    return -torch.nn.functional.logsigmoid(part.beta * (ratios[:, 0] - ratios[:, 1])).mean()


def _ipo(part: PairLoss, answers: Tensor, ratios: Tensor, lengths: Tensor) -> Tensor:
    by_token = ratios / lengths.clamp(min=1)
    return (by_token[:, 0] - by_token[:, 1] - 1 / (2 * part.beta)).square().mean()


def _robust(part: PairLoss, answers: Tensor, ratios: Tensor, lengths: Tensor) -> Tensor:
    share = part.label_smoothing
    kept, swapped = _sigmoid(part, answers, ratios, lengths), _sigmoid(part, answers, -ratios, lengths)
    return ((1 - share) * kept - share * swapped) / (1 - 2 * share)


def _sft(part: PairLoss, answers: Tensor, ratios: Tensor, lengths: Tensor) -> Tensor:
    return -answers[:, 0].sum() / lengths[:, 0].sum()


# The losses by TRL's names, of `answers`, the log-probabilities of both answers of each pair (pairs, 2), the
# chosen one first; of `ratios`, these less the reference model's; and of the answers' `lengths` in tokens.
# IPO: Azar et al. 2024, equation 17, with means over tokens as in TRL; robust: Chowdhury et al. 2024,
# equation 12, where `label_smoothing` is the share of swapped pairs.
LOSSES: dict[str, Callable[[PairLoss, Tensor, Tensor, Tensor], Tensor]] = {
    "sigmoid": _sigmoid,
    "ipo": _ipo,
    "robust": _robust,
    "sft": _sft,
}


class _ShareReferences(TrainerCallback):
    """Lets the ranks share their references before an epoch has pairs of which another rank has them."""

    def __init__(self, references: References) -> None:
        self.references = references

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        self.references.share()
