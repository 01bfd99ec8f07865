"""KTO's loss of answers with labels, each of which is right or wrong by itself.

Imports transformers; import it inside functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from trainer.libraries.trl import add_tokens, figures_of, tokens_of
from trainer.padding_free import pairs
from trainer.training.parts.pair_loss import AgainstBase
from trainer.training.parts.part import Batch, Loss
from trainer.training.parts.per_item import PerItem, with_lengths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch import Tensor
    from transformers import PreTrainedModel
    from transformers.trainer_utils import EvalLoopOutput

# The answer of a row, and that of another row, which the KL term is estimated with.
OWN, OTHER = "completion_ids", "KL_completion_ids"


class OfStep(PerItem):
    """Has the KL term estimated over all rows of a step, so that it is the same for every division."""

    count = staticmethod(with_lengths)

    def items_in(
        self, usual: Callable[[], Tensor | int | None], batches: list[dict[str, Any]]
    ) -> Tensor | int | None:
        term = self.kl_term(self.model, batches)
        for batch in batches:
            batch["kl"] = term
        return super().items_in(usual, batches)


class UnpairedLoss(AgainstBase):
    """The loss and the figures of TRL's KTO trainer, with (`padded`) or without padding.

    The KL term is estimated over the rows of a whole step, or of a whole evaluation, where the library takes
    those of a micro-batch. Figures are those of these rows, too.
    """

    padded: bool
    # Of each label: rows, tokens, and the sums of what is noted of them.
    so_far: Tensor

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.data_collator = self.collate
        self.computes = pairs.padded_log_probabilities if self.padded else pairs.answer_log_probabilities
        self.term_of_evaluation: Tensor | None = None

    def collate(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """A batch of rows: each with its own answer, with that of the other row, and with both."""
        lay = pairs.collate_padded if self.padded else pairs.collate
        own, other, both = (lay(rows, answers) for answers in ((OWN,), (OTHER,), (OWN, OTHER)))
        label = torch.tensor([bool(row["label"]) for row in rows])
        return {"lengths": own["lengths"], "label": label, "own": own, "other": other, "both": both}

    def kl_term(self, model: PreTrainedModel, batches: Iterable[dict[str, Any]]) -> Tensor:
        """By how much the model prefers the answers of other rows to what the base model does, at least 0."""
        apart = []
        for batch in batches:
            batch["of_base"] = self.of_base(model, batch["both"], self.computes)
            with torch.no_grad():
                of_model = self.computed(self.computes, Batch(model, batch["other"]), False)[0]
            apart.append(of_model[:, 0] - batch["of_base"].to(of_model.device)[:, 1])
        return torch.cat(apart).mean().clamp(min=0)

    def evaluation_loop(self, dataloader: Any, *args: Any, **kwargs: Any) -> EvalLoopOutput:
        self.model.eval()
        self.term_of_evaluation = self.kl_term(self.model, dataloader)
        try:
            return super().evaluation_loop(dataloader, *args, **kwargs)
        finally:
            self.term_of_evaluation = None

    def loss_of(self, batch: Batch) -> Loss:
        inputs = batch.inputs
        term = inputs.get("kl", self.term_of_evaluation)
        if term is None:
            term = self.kl_term(batch.model, [inputs])
        of_base = inputs.get("of_base")
        if of_base is None:
            of_base = self.of_base(batch.model, inputs["both"], self.computes)
        answers, sums, counted = self.computed(self.computes, batch.having(inputs=inputs["own"]))
        answers = answers[:, 0]
        label = inputs["label"].to(answers.device)
        ratios = answers - of_base[:, 0].to(answers.device)
        gains = self.beta * torch.where(label, ratios - term, term - ratios)
        weights = torch.where(label, self.desirable_weight, self.undesirable_weight)
        loss = (weights * (1 - gains.sigmoid())).mean()
        self._note(batch, label, term, answers.detach(), self.beta * ratios.detach(), sums, counted)
        router = inputs["own"].get("router_loss")
        return loss if router is None else loss + self.router_aux_loss_coef * router, {}

    def _note(
        self,
        batch: Batch,
        label: Tensor,
        term: Tensor,
        answers: Tensor,
        rewards: Tensor,
        sums: Tensor | None,
        counted: list[int],
    ) -> None:
        """Adds the figures of a batch to those of its step or evaluation, by the library's names."""
        training = batch.model.training
        figures = figures_of(self, training)
        assert figures is not None
        if training:
            add_tokens(self, int(batch.inputs["lengths"].sum()))
        rows = [torch.ones_like(answers), torch.tensor(counted).to(answers), answers, rewards]
        if sums is not None:
            # Entropies and means of logits.
            rows += torch.stack([part.sum(1) for part in sums.split(counted, dim=1)])[:, :2].unbind(1)
        of_rows = torch.stack(rows, 1)
        found = torch.stack([of_rows[side].sum(0) for side in (label, ~label)])
        if "kl" in figures:
            found += self.so_far
        self.so_far = found
        figures["kl"], figures["num_tokens"] = [float(term)], [tokens_of(self)]
        totals = dict(zip(("chosen", "rejected"), found.tolist(), strict=True))
        for side, (count, tokens, logps, reward, *others) in totals.items():
            if not count:
                continue
            figures[f"rewards/{side}"], figures[f"logps/{side}"] = [reward / count], [logps / count]
            if others:
                figures[f"logits/{side}"] = [others[1] / max(1, tokens)]
        if sums is not None:
            figures["entropy"] = [float(found[:, 4].sum() / found[:, 1].sum().clamp(min=1))]
        if found[:, 0].all():
            figures["rewards/margins"] = [figures["rewards/chosen"][0] - figures["rewards/rejected"][0]]
