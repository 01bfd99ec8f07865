"""The library's DPO trainer for pairs without padding, with references that are computed once.

Imports transformers; import it inside functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from transformers import TrainerCallback
from trl.models.utils import _ForwardRedirection

from trainer.padding_free.pairs import answer_log_probabilities, collate
from trainer.padding_free.trial import autocast
from trainer.training.references import References
from trainer.training.shared_batches import Blank

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, TrainerControl, TrainerState, TrainingArguments


def pairs_in(inputs: dict[str, Tensor]) -> int:
    """The number of pairs of a batch."""
    return len(inputs["lengths"])


def pair_trainer(base: type, references: References, again: bool) -> type:
    """A subclass of `base`, the library's DPO trainer with its sigmoid loss, that computes no padding.

    `again` says whether a pair is trained on more than once, so that its references are worth keeping; those
    of held-out pairs are kept in any case.
    """
    redirect = _ForwardRedirection()

    class PairTrainer(base):
        """Logs what the library's trainer does."""

        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, **kwargs)
            # The library's has set the padding token before, which generation needs.
            self.data_collator = collate
            self.add_callback(_ShareReferences(references))

        def compute_loss(
            self,
            model: PreTrainedModel,
            inputs: dict[str, Any],
            return_outputs: bool = False,
            num_items_in_batch: Tensor | int | None = None,
        ) -> Tensor | tuple[Tensor, object]:
            unwrapped = self.accelerator.unwrap_model(model)
            given = unwrapped.get_base_model(), inputs
            args = self.args
            half = "bfloat16" if args.bf16 else "float16" if args.fp16 else None
            # The probe's batches and those that only fill up a step are no part of the training.
            counts = self.is_in_train and not isinstance(inputs, Blank)

            def reference() -> Tensor:
                # It is kept, so nothing may be dropped out of it.
                training = unwrapped.training
                unwrapped.eval()
                try:
                    with torch.no_grad(), unwrapped.disable_adapter():
                        return answer_log_probabilities(*given, figures=False)[0]
                finally:
                    unwrapped.train(training)

            with autocast(args.device.type, half):
                base_says = references.of(inputs["keys"], reference, counts and (again or not model.training))
                if model is unwrapped:
                    found = answer_log_probabilities(*given)
                else:
                    # Within the forward pass of DDP, which averages the gradients of the ranks only then.
                    found = redirect(model, unwrapped, answer_log_probabilities, *given)
            log_probabilities, told, counted = found
            assert told is not None
            ratios = log_probabilities - base_says.to(log_probabilities.device)
            loss = -torch.nn.functional.logsigmoid(self.beta * (ratios[:, 0] - ratios[:, 1])).mean()
            self._note(model.training, inputs, log_probabilities.detach(), ratios.detach(), told, counted)
            return (loss, {}) if return_outputs else loss

        def _note(
            self,
            training: bool,
            inputs: dict[str, Any],
            answers: Tensor,
            ratios: Tensor,
            told: Tensor,
            counted: list[int],
        ) -> None:
            """Adds the metrics of a batch by the library's names."""
            if training:
                # Each answer with its prompt, as the library counts.
                self._total_train_tokens += int(inputs["lengths"].sum() + inputs["lengths"][:, 0].sum())
            sums = torch.stack([part.sum(1) for part in told.split(counted, dim=1)]).view(-1, 2, 3).sum(0)
            rewards = self.beta * ratios
            margins = rewards[:, 0] - rewards[:, 1]
            kinds = [sums.flatten(), answers.mean(0), rewards.mean(0)]
            found = torch.cat([*kinds, margins.mean()[None], (margins > 0).float().mean()[None]]).tolist()
            number, other = (max(1, sum(counted[side::2])) for side in (0, 1))
            metrics = self._metrics["train" if training else "eval"]
            metrics["num_tokens"] = [self._total_train_tokens]
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
                metrics[name].append(value)

    return PairTrainer


class _ShareReferences(TrainerCallback):
    """Lets the ranks share their references before an epoch has pairs of which another rank has them."""

    def __init__(self, references: References) -> None:
        self.references = references

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        self.references.share()
