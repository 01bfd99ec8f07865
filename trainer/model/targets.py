"""The target modules of LoRA, chosen by what a model does with its modules, not by their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trainer.libraries.peft import is_refused, is_taken_for_experts
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Linear
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from trainer.protocol.contracts import Settings

    # How many numbers a layer returns for a token, and the place of the largest for a few tokens.
    Largest = tuple[int, Tensor]

# Linear layers of torch, of GPT-2 and of bitsandbytes.
LINEAR = ("Linear", "Conv1D", "Linear4bit", "Linear8bitLt")
# Those whose weight is a matrix as it is computed with.
UNQUANTIZED = ("Linear",)

# The matrix that Gemma 3n and 4 make the inputs of all layers with; llama.cpp applies no adapter to it
# (`trainer.export.gguf.adapter_gguf.UNREAD`).
BEFORE_LAYERS = ("per_layer_model_projection",)

# Tokens that a model is watched with.
TOKENS = 8


@dataclass(frozen=True)
class Targets:
    """What gets LoRA: the full names of `modules`, and of `parameters` that PEFT must be given by themselves.

    PEFT takes a name such as `gate_proj` for a part of the experts in families whose experts have become one
    parameter, also where it is that of a dense layer or of a shared expert.
    """

    modules: list[str] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)


def linear_names(model: PreTrainedModel) -> list[str]:
    """The names (last part) of all linear layers of `model` but the output layer, sorted."""
    head = _head(model)
    return sorted({_leaf(name) for name, module in _linear(model) if module is not head})


def check_targets(model: PreTrainedModel, wanted: list[str] | None) -> None:
    """Failure `unsupported` when `wanted` names modules that `model` does not have."""
    names = [name for name, _ in model.named_modules()]
    for end in wanted or []:
        if not any(_ends_with(name, [end]) for name in names):
            raise _refusal(f"{end} is not a module of this model", linear_names(model))


def choose_targets(
    model: PreTrainedModel,
    wanted: list[str] | None,
    dropout: float = 0.0,
    others: list[str] | None = None,
    mergeable: set[str] | None = None,
    experts: bool = False,
) -> Targets:
    """The linear layers of `model` that are `wanted`, by full names or their ends. Without `wanted` all that
    the model computes as such, but its output layer, that before its layers, the layers that choose experts,
    and those of experts, of which a token needs a few. Layers called one of `others` are trained as a whole
    and get none; nor do layers whose weights are not among `mergeable`, if that is given. With `experts`
    these get LoRA, too.

    Failure `unsupported` when `wanted` names modules that cannot have LoRA, or when experts cannot.
    """
    check_targets(model, wanted)
    head, outputs, choices = _head(model), *_watch(model)
    lists, linear = _expert_lists(model), _linear(model)
    sparse = [part for part in lists if any(n.startswith(part) and n not in outputs for n, _ in linear)]
    usable, default = [], []
    for name, module in linear:
        listed = [part for part in lists if name.startswith(part)]
        # Some are only stores of a weight that is used otherwise.
        seen = name in outputs if outputs else type(module).__name__ in LINEAR
        if not (seen or listed or module is head) or is_refused(model, _leaf(name)):
            continue
        stored = mergeable is None or f"{name}.weight" in mergeable
        if _ends_with(name, others or []) or not (stored or module is head):
            continue
        usable.append(name)
        is_expert = any(part in sparse for part in listed) and not experts
        outside = module is head or _leaf(name) in BEFORE_LAYERS
        if not outside and not is_expert and not _chooses(outputs.get(name), choices):
            default.append(name)
    names = [name for name, _ in model.named_modules()]
    for end in wanted or []:
        if any(_ends_with(name, [end]) and name not in usable for name in names):
            raise _refusal(f"{end} of this model cannot have LoRA", sorted({*map(_leaf, default)}))
    chosen = [name for name in usable if _ends_with(name, wanted)] if wanted else default
    if head is not None and head.weight is model.get_input_embeddings().weight:
        shared = next((name for name in chosen if model.get_submodule(name) is head), None)
        if shared:
            what = f"{shared} shares its weight with this model's embedding, and a merge would change both"
            raise _refusal(what, sorted({*map(_leaf, default)}))
    divided = _divided(model, chosen, dropout, bool(wanted))
    if not experts:
        return divided
    joined = _joined_experts(model, {size for size, _ in choices})
    if not joined and not sparse:
        raise Failure("unsupported", "This model has no experts (target_experts).", "Leave it out.")
    if joined and (dropout or mergeable is None or not mergeable.issuperset(joined)):
        raise Failure(
            "unsupported",
            "The experts of this model cannot be trained (target_experts): "
            + (
                "there is no dropout for them."
                if dropout
                else "their weights are not stored as they are computed with, so that nothing can be merged."
            ),
            "Set lora_dropout to 0." if dropout else "Leave target_experts out.",
        )
    return Targets(divided.modules, [*divided.parameters, *joined])


def trained_embeddings(
    model: PreTrainedModel, settings: Settings, tokenizer: PreTrainedTokenizerBase | None
) -> dict[str, Any]:
    """The arguments of PEFT's LoraConfig that train the embedding and the output layer of `model` as a whole
    (`modules_to_save`), or the rows of `new_tokens`, which `tokenizer` has. Where both are one matrix it
    stays one. Failure `unsupported` for another module."""
    if not settings.modules_to_save and not settings.new_tokens:
        return {}
    head, embedding = _head(model), model.get_input_embeddings()
    layers = [_leaf(name) for name, part in model.named_modules() if part in (embedding, head)]
    wanted = settings.modules_to_save or []
    other = next((name for name in wanted if name not in layers), None)
    if other is not None:
        raise Failure(
            "unsupported",
            f"{other} is no embedding or output layer of this model (modules_to_save).",
            f"Choose from: {', '.join(layers)}.",
        )
    tied = head is not None and head.weight is embedding.weight
    # PEFT ties what is saved where it knows one of the two by its name.
    saved = layers if tied and wanted else wanted
    rows = [name for name in (layers[:1] if tied else layers) if name not in saved]
    found: dict[str, Any] = {}
    if saved:
        found |= {"modules_to_save": saved, "ensure_weight_tying": tied}
    if settings.new_tokens and rows and tokenizer is not None:
        ids = tokenizer.convert_tokens_to_ids(settings.new_tokens)
        found["trainable_token_indices"] = dict.fromkeys(rows, ids)
    return found


def _joined_experts(model: PreTrainedModel, counts: set[int]) -> list[str]:
    """The parameters that are the weights of all experts, (experts, rows, columns), of which a token takes
    some: one of `counts` is their number."""
    return [
        name for name, weight in model.named_parameters() if weight.dim() == 3 and weight.shape[0] in counts
    ]


def _divided(model: PreTrainedModel, chosen: list[str], dropout: float, asked: bool) -> Targets:
    """`chosen` as PEFT must be given them. A layer whose name it takes for a part of experts is trained by
    its weight, for which it has no dropout and no quantized weights; such a layer is left out there, or a
    Failure if it was `asked` for."""
    taken = {leaf for leaf in {*map(_leaf, chosen)} if is_taken_for_experts(model, leaf)}
    by_weight = [name for name in chosen if _leaf(name) in taken]
    possible = [
        name for name in by_weight if not dropout and type(model.get_submodule(name)).__name__ in UNQUANTIZED
    ]
    if asked and possible != by_weight:
        raise Failure(
            "unsupported",
            f"{', '.join(sorted(taken))} of this model cannot be trained with lora_dropout or in 4 or 8 bits "
            "(target_modules).",
            "Set lora_dropout to 0 and load the model in full precision, or leave them out.",
        )
    modules = [name for name in chosen if _leaf(name) not in taken]
    return Targets(modules, [f"{name}.weight" for name in possible])


def _refusal(what: str, choices: list[str]) -> Failure:
    advice = f"Leave it out for all linear layers, or choose from: {', '.join(choices)}."
    return Failure("unsupported", f"{what} (target_modules).", advice)


def _leaf(name: str) -> str:
    return name.rpartition(".")[2]


def _ends_with(name: str, ends: list[str]) -> bool:
    return any(name == end or name.endswith(f".{end}") for end in ends)


def _head(model: PreTrainedModel) -> Linear | None:
    return model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None


def _linear(model: PreTrainedModel) -> list[tuple[str, Linear]]:
    """The layers of `model` that have the weight of a linear layer."""
    import torch

    return [
        (name, part)
        for name, part in model.named_modules()
        if type(part).__name__ in LINEAR or isinstance(part, torch.nn.Linear)
    ]


def _computes_otherwise(module: Linear, given: Tensor, output: object) -> bool:
    """Whether a class of its own, such as a router's, makes something else of its input `given` than a linear
    layer does."""
    import torch

    if type(module).__name__ in LINEAR:
        return False
    plain = torch.nn.functional.linear(given, module.weight, module.bias)
    return not isinstance(output, torch.Tensor) or not torch.allclose(output, plain, rtol=1e-2, atol=1e-4)


def _expert_lists(model: PreTrainedModel) -> list[str]:
    """Where `model` has lists of alike modules within a layer, such as experts: the beginnings of names."""
    import torch

    lists = [name for name, module in model.named_modules() if isinstance(module, torch.nn.ModuleList)]
    return [f"{name}." for name in lists if any(name.startswith(f"{other}.") for other in lists)]


def _chooses(largest: Largest | None, choices: list[Largest]) -> bool:
    """Whether the `largest` of what a layer returns for each token, of so many, are those of one of
    `choices`."""
    return largest is not None and any(
        size == largest[0] > 1 and at.shape == largest[1].shape and bool((at == largest[1]).all())
        for size, at in choices
    )


def _watch(model: PreTrainedModel) -> tuple[dict[str, Largest], list[Largest]]:
    """How many numbers each linear layer of `model` returns for a token, and the place of the largest for a
    few tokens; and the same of what the model takes the largest of. Both are empty for a model that does not
    compute so few tokens."""
    import torch
    from torch.overrides import TorchFunctionMode

    outputs: dict[str, Largest] = {}
    choices: list[Largest] = []

    def largest(values: Tensor) -> Largest:
        return values.shape[-1], values.argmax(-1).flatten()

    class Choices(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function in (torch.topk, torch.Tensor.topk):
                choices.append(largest(args[0]))
            return function(*args, **(kwargs or {}))

    def hook(name: str) -> Callable[[Linear, tuple[Tensor, ...], Tensor], None]:
        def keep(module: Linear, given: tuple[Tensor, ...], output: Tensor) -> None:
            if not _computes_otherwise(module, given[0], output):
                # The first is enough of a layer that is called again.
                outputs.setdefault(name, largest(output))

        return keep

    hooks = [module.register_forward_hook(hook(name)) for name, module in _linear(model)]
    tokens = torch.arange(TOKENS, device=model.device)[None] % model.config.get_text_config().vocab_size
    others = {"decoder_input_ids": tokens} if model.config.is_encoder_decoder else {}
    training = model.training
    model.eval()
    try:
        with torch.no_grad(), Choices():
            model(input_ids=tokens, **others)
    except (NotImplementedError, TypeError, ValueError, RuntimeError, AttributeError, KeyError, IndexError):
        return {}, []
    finally:
        model.train(training)
        for each in hooks:
            each.remove()
    return outputs, choices
