"""What Hone uses of transformers beside its public interface: steps of its trainer, how a model computes
attention, and how a checkpoint's tensors become weights.

The trainer's callbacks are public, and are used where they suffice: they see a step and change nothing of it.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from trainer.libraries.versions import require

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from torch.nn import Module
    from torch.utils.data import DataLoader
    from transformers import PreTrainedModel, Trainer
    from transformers import Trainer as Base
    from transformers.core_model_loading import WeightConverter, WeightRenaming

    Batches = DataLoader[dict[str, Tensor]]
else:
    Base = object

require("transformers")

# No file of weights is larger than this: they are one.
WHOLE = "100TB"


class TrainerSteps(Base):
    """The steps of transformers' trainer that Hone changes, under names of its own. Each takes what the
    trainer would do as `usual`, and calls it or not."""

    def evaluate_at_step(self, usual: Callable[[], dict[str, float]]) -> dict[str, float]:
        """An evaluation during the training."""
        return usual()

    def save_at_step(self, usual: Callable[[], None]) -> None:
        """Saves a checkpoint of the present step."""
        usual()

    def is_better(self, usual: Callable[[], bool]) -> bool:
        """Whether an evaluation is the best so far."""
        return usual()

    def loader(self, usual: Callable[[], Batches], rows: Any, training: bool) -> Batches:
        """The batches of `rows`."""
        return usual()

    def items_in(
        self,
        usual: Callable[[], Tensor | int | None],
        batches: list[dict[str, Tensor]],
    ) -> Tensor | int | None:
        """The items that the loss of a step's micro-batches is divided by."""
        return usual()

    def count_input_tokens(
        self, usual: Callable[[dict[str, Tensor]], None], inputs: dict[str, Tensor]
    ) -> None:
        """Counts the tokens of a micro-batch."""
        usual(inputs)

    def after_step(self, usual: Callable[[], None]) -> None:
        """Logs, evaluates and saves after a step, where it is time."""
        usual()

    def _evaluate(self, *args: object, **kwargs: object) -> dict[str, float]:
        return self.evaluate_at_step(partial(super()._evaluate, *args, **kwargs))

    def _save_checkpoint(self, model: PreTrainedModel, trial: object) -> None:
        self.save_at_step(partial(super()._save_checkpoint, model, trial))

    def _determine_best_metric(self, metrics: dict[str, float], trial: object) -> bool:
        return self.is_better(partial(super()._determine_best_metric, metrics, trial))

    def _get_dataloader(self, dataset: Any, *args: object, **kwargs: object) -> Batches:
        usual = partial(super()._get_dataloader, dataset, *args, **kwargs)
        return self.loader(usual, dataset, bool(kwargs.get("is_training")))

    def _get_num_items_in_batch(
        self, batches: list[dict[str, Tensor]], device: torch.device
    ) -> Tensor | int | None:
        return self.items_in(partial(super()._get_num_items_in_batch, batches, device), batches)

    def _track_num_input_tokens(self, inputs: dict[str, Tensor]) -> None:
        self.count_input_tokens(super()._track_num_input_tokens, inputs)

    def _maybe_log_save_evaluate(self, *args: object, **kwargs: object) -> None:
        self.after_step(partial(super()._maybe_log_save_evaluate, *args, **kwargs))


def count_items(trainer: Trainer, batches: list[dict[str, Tensor]]) -> Tensor | int | None:
    """The items that the loss of these micro-batches is divided by."""
    return trainer._get_num_items_in_batch(batches, trainer.args.device)


def save_state(trainer: Trainer, folder: Path) -> None:
    """Saves weights, optimizer, scheduler and random state into `folder`, as a checkpoint has them."""
    from transformers import PreTrainedModel

    model = trainer.accelerator.unwrap_model(trainer.model)
    if isinstance(model, PreTrainedModel):
        # `load_weights` reads one file, with the names that the loaded model has.
        model.save_pretrained(folder, save_original_format=False, max_shard_size=WHOLE)
    else:
        trainer.save_model(str(folder), _internal_call=True)
    trainer._save_optimizer_and_scheduler(str(folder))
    trainer._save_scaler(str(folder))
    save_random_state(trainer, folder)


def save_random_state(trainer: Trainer, folder: Path) -> None:
    """Saves this process's random state into `folder`."""
    trainer._save_rng_state(str(folder))


def save_now(trainer: Trainer) -> None:
    """Saves a checkpoint of the present step outside of the training loop."""
    trainer._save_checkpoint(trainer.model, None)


def save_by_own_names(model: PreTrainedModel, folder: Path, renamed: bool) -> None:
    """Saves a model in one file, with the names that checkpoints of its class have. Where `renamed`, it was
    loaded with other names, whose patterns cannot be reversed."""
    with _by_its_class(model, renamed):
        model.save_pretrained(folder, max_shard_size=WHOLE)


def names_when_saved(model: PreTrainedModel, renamed: bool) -> dict[str, tuple[int, ...]]:
    """The shapes of the tensors that `save_by_own_names` would write, by their names."""
    from transformers.core_model_loading import revert_weight_conversion

    tied = tied_weights(model)
    state = {name: value.to("meta") for name, value in model.state_dict().items() if name not in tied}
    with _by_its_class(model, renamed):
        saved = revert_weight_conversion(model, state)
    return {name: tuple(value.shape) for name, value in saved.items()}


@contextmanager
def _by_its_class(model: PreTrainedModel, renamed: bool) -> Iterator[None]:
    """Within it, what is done with tensors when `model` is saved follows from its class if it was `renamed`,
    and not from how it was loaded."""
    before = getattr(model, "_weight_conversions", None)
    if renamed:
        model._weight_conversions = None
    try:
        yield
    finally:
        model._weight_conversions = before


def load_weights(trainer: Trainer, folder: Path) -> None:
    """Loads the weights of the checkpoint in `folder`."""
    trainer._load_from_checkpoint(str(folder))


def use_one_gpu(trainer: Trainer) -> None:
    """Keeps the trainer from wrapping the model in DataParallel where it sees several GPUs."""
    trainer.args._n_gpu = min(trainer.args.n_gpu, 1)


def running_loss(trainer: Trainer) -> Tensor:
    """The sum of the losses since the last log, which may be overwritten."""
    return trainer._tr_loss


@contextmanager
def without_gathered_loss() -> Iterator[None]:
    """Keeps the trainer from gathering the loss when it logs: it is that of all ranks already."""
    from transformers import trainer as library

    gather = library.nested_gather
    library.nested_gather = lambda value, *args: value
    try:
        yield
    finally:
        library.nested_gather = gather


def collated(trainer: Trainer, rows: list[dict[str, object]]) -> dict[str, Tensor]:
    """The micro-batch of `rows`, on the device of the model."""
    return trainer._prepare_inputs(trainer.data_collator(rows))


def with_used_columns(trainer: Trainer, row: Mapping[str, object]) -> dict[str, object]:
    """`row` with the columns that the collator is given."""
    trainer._set_signature_columns_if_needed()
    return {name: value for name, value in row.items() if name in trainer._signature_columns}


def divide_step(trainer: Trainer, size: int, accumulation: int) -> None:
    """Sets the micro-batch and the accumulation steps of a trainer that is made."""
    trainer.args.per_device_train_batch_size = size
    trainer._train_batch_size = size
    trainer.args.gradient_accumulation_steps = accumulation
    trainer.args.per_device_eval_batch_size = min(trainer.args.per_device_eval_batch_size, size)
    trainer.accelerator.gradient_accumulation_steps = accumulation


def attention_of(model: PreTrainedModel) -> str:
    """The name of the attention that `model` computes with."""
    return model.config._attn_implementation


def set_attention(model: PreTrainedModel, name: str) -> None:
    """Sets the attention of `model` and of its parts, some of which have a copy of its configuration. The
    public `set_attn_implementation` refuses models that do not say that theirs can be replaced, as T5."""
    for part in model.modules():
        if hasattr(getattr(part, "config", None), "_attn_implementation"):
            part.config._attn_implementation = name


def takes_other_attention(model: PreTrainedModel) -> bool:
    """Whether `model` says that its attention can be replaced."""
    return type(model)._supports_attention_backend


def usual_attention() -> tuple[Callable[..., tuple[Tensor, None]], Callable[..., Any]]:
    """SDPA as transformers calls it, and what makes its masks."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import sdpa_mask

    return sdpa_attention_forward, sdpa_mask


# What decoders call to rotate queries and keys: a function of their file, which no argument replaces.
ROTATION = "apply_rotary_pos_emb"


def rotating_layers(model: PreTrainedModel) -> Iterator[tuple[Module, FunctionType, Callable[..., Any]]]:
    """The layers of `model` whose class rotates queries and keys, with its forward pass, and the function
    that it calls for that."""
    for module in model.modules():
        forward = type(module).forward
        if isinstance(forward, FunctionType) and ROTATION in forward.__code__.co_names:
            rotate = forward.__globals__.get(ROTATION)
            if "forward" not in vars(module) and callable(rotate):
                yield module, forward, rotate


def with_rotation(forward: FunctionType, rotate: Callable[..., Any]) -> FunctionType:
    """`forward`, a forward pass of `rotating_layers`, which calls `rotate` instead."""
    names = {**forward.__globals__, ROTATION: rotate}
    found = FunctionType(forward.__code__, names, forward.__name__, forward.__defaults__, forward.__closure__)
    found.__kwdefaults__, found.__module__ = forward.__kwdefaults__, rotate.__module__
    return found


@contextmanager
def short_biases(model: PreTrainedModel, longest: int) -> Iterator[None]:
    """T5's biases by distance are computed for the `longest` row, not for all rows together."""
    modules: list[Any] = [
        part for part in model.modules() if getattr(part, "has_relative_attention_bias", False)
    ]
    for module in modules:
        compute = module.compute_bias
        module.compute_bias = lambda *lengths, compute=compute, **others: compute(longest, longest, **others)
    try:
        yield
    finally:
        for module in modules:
            del module.compute_bias


@contextmanager
def shown_while_loading(
    show: Callable[[Iterable[object]], Iterable[object]],
) -> Iterator[None]:
    """The items that the library shows a progress bar of are those of `show`."""
    from transformers.utils import logging

    def hook(
        factory: Callable[..., object], args: tuple[Iterable[object], ...], kwargs: Mapping[str, Any]
    ) -> object:
        items = args[0] if args else kwargs.get("iterable")
        return show(items) if items is not None else factory(*args, **kwargs)

    before = logging.set_tqdm_hook(hook)
    try:
        yield
    finally:
        logging.set_tqdm_hook(before)


def prepare_loading() -> None:
    """Compiles hundreds of regular expressions, which the first model to be loaded would otherwise do."""
    from transformers.conversion_mapping import get_checkpoint_conversion_mapping

    get_checkpoint_conversion_mapping("llama")


def transforms_of(
    model: PreTrainedModel, key_mapping: Mapping[str, str] | None
) -> tuple[list[WeightRenaming], list[WeightConverter]]:
    """What is done with names, and with tensors, of a checkpoint while `model` is loaded with
    `key_mapping`."""
    from transformers.conversion_mapping import get_model_conversion_mapping
    from transformers.core_model_loading import WeightConverter, WeightRenaming

    found = get_model_conversion_mapping(model, key_mapping)
    kinds = (WeightRenaming, WeightConverter)
    renamings, converters = ([each for each in found if isinstance(each, kind)] for kind in kinds)
    return renamings, converters


def renamed(
    name: str,
    renamings: list[WeightRenaming],
    converters: list[WeightConverter],
    prefix: str | None = None,
    shapes: Mapping[str, object] | None = None,
) -> tuple[str, str | None]:
    """The weight that a checkpoint's tensor `name` becomes, and the pattern of its converter, if any, in a
    model with weights of `shapes`, whose base model has the `prefix`."""
    from transformers.core_model_loading import rename_source_key

    return rename_source_key(name, renamings, converters, prefix, shapes)


def in_natural_order(names: Iterable[str]) -> list[str]:
    """Names of tensors with their numbers in order, as the library takes them."""
    from transformers.core_model_loading import dot_natural_key

    return sorted(names, key=dot_natural_key)


def tied_weights(model: PreTrainedModel) -> set[str]:
    """The weights of `model` that are others of its weights, too."""
    return set(getattr(model, "all_tied_weights_keys", None) or ())


@contextmanager
def vocabulary_read_once() -> Iterator[None]:
    """Keeps transformers from copying the vocabulary that it has just read and uses nowhere else
    (`TokenizersBackend.__init__`): a copy takes as long as reading it, 0.9 s with 152,000 tokens."""
    from tokenizers import Tokenizer

    # For `copy.deepcopy`, what reduces to a name is the object itself.
    copyreg.pickle(Tokenizer, lambda tokenizer: "")
    try:
        yield
    finally:
        del copyreg.dispatch_table[Tokenizer]


def unpacked_mxfp4(blocks: Tensor, scales: Tensor) -> Tensor:
    """The weights of all experts that MXFP4's `blocks` and `scales` are; the public way needs a model."""
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    return convert_moe_packed_tensors(blocks, scales)


def gguf_parameters() -> dict[str, dict[str, str | None]]:
    """By an architecture's name in GGUF: the names in config.json of its parameters."""
    from transformers.integrations.ggml import GGUF_CONFIG_MAPPING

    return GGUF_CONFIG_MAPPING


def gguf_names(model: PreTrainedModel, processor: Any, architecture: str) -> dict[str, str]:
    """The weights of `model` by the names of tensors in GGUF."""
    from transformers.modeling_gguf_pytorch_utils import get_gguf_hf_weights_map

    return get_gguf_hf_weights_map(model, processor, model_type=architecture)


def gguf_processors() -> tuple[type, type, dict[str, type]]:
    """What rearranges tensors of GGUF: the class that leaves them, Gemma 2's, and those of architectures."""
    from transformers.modeling_gguf_pytorch_utils import (
        TENSOR_PROCESSORS,
        Gemma2TensorProcessor,
        TensorProcessor,
    )

    return TensorProcessor, Gemma2TensorProcessor, TENSOR_PROCESSORS
