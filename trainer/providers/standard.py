"""The standard provider: transformers and PEFT, for every platform and architecture that they support."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from importlib.util import find_spec
from typing import TYPE_CHECKING

from trainer.kernels import native
from trainer.libraries.transformers import shown_while_loading
from trainer.model import load_report, text_part, whole
from trainer.model.hardware import Hardware
from trainer.model.names import mergeable, stored_shapes
from trainer.model.quantization import quantized
from trainer.model.start import load_start
from trainer.model.targets import choose_targets, trained_embeddings
from trainer.model.tokenizer import load_with_class
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from peft import LoraConfig
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from trainer.data.job import Adapted, Job
    from trainer.protocol.contracts import Settings
    from trainer.protocol.model_config import ModelConfig


NEEDED = ("torch", "transformers", "trl", "peft", "datasets", "jinja2")


class Standard:
    """Loads models with transformers and adds LoRA with PEFT."""

    name = "standard"
    label = "Standard"
    description = "Works on every platform and with every hub model."
    order = 1
    # Whether it has its own kernels, which Hone's must not replace.
    own_kernels = False
    # Failure code and advice when it is not available.
    absence = ("dependency_missing", "Run `npm start` again, which repairs trainer/.venv.")

    def availability(self) -> tuple[bool, str | None]:
        """Whether it is available on this machine, and why not."""
        missing = [name for name in NEEDED if find_spec(name) is None]
        return (not missing, f"Python packages are missing: {', '.join(missing)}." if missing else None)

    def refuse(self, config: ModelConfig, family: str, settings: Settings) -> None:
        """Failure `unsupported` for a model or settings that it does not support."""
        method = quantized.method_of(config)
        bits = "4 bits" if settings.use_4bit else "8 bits" if settings.use_8bit else method
        if settings.adapter == "full" and bits is not None:
            raise Failure(
                "unsupported",
                f"The model's weights are quantized ({bits}), in which they cannot be trained.",
                "Set adapter to lora, or train a 16-bit version of the model without use_4bit and use_8bit.",
            )

    def prepare(self, job: Job) -> None:
        """What must happen before transformers is imported: nothing."""

    def tokenizer(self, job: Job) -> PreTrainedTokenizerBase:
        """The model's tokenizer; Failure `bad_tokenizer` when it cannot be read."""
        try:
            return load_with_class(job.model_dir)
        except Exception as error:
            raise Failure("bad_tokenizer", evidence=f"{type(error).__name__}: {error}"[:2000]) from error

    def base(self, job: Job, hardware: Hardware, auto_class: str, **options: object) -> PreTrainedModel:
        """The base model, loaded with transformers' class `auto_class` and `options` of its
        configuration; beats while it loads.

        Failure `bad_model` when the files do not fit that class: it never trains on made-up weights.
        """
        import torch
        import transformers

        # A missing head, such as that of a reward model, is initialized randomly while loading.
        transformers.set_seed(job.settings.seed)
        try:
            with shown_while_loading(lambda items: _Beating(items, job)):
                model, report = text_part.loader(job.config, auto_class)(
                    job.model_dir,
                    dtype=getattr(torch, hardware.weights),
                    use_safetensors=True,
                    trust_remote_code=False,
                    local_files_only=True,
                    # Decided by the report, with the tensors' names.
                    ignore_mismatched_sizes=True,
                    output_loading_info=True,
                    **quantized.load_arguments(job.config, job.settings, hardware),
                    **options,
                )
            load_report.check(model, report, job.config)
            quantized.check_trainable(model)
            _keep_differentiable(model)
            if hardware.device == "cpu":
                print(f"The processor computes {native.describe()}.", flush=True)
            return model
        except (ValueError, KeyError, RuntimeError) as error:
            if "out of memory" in str(error).lower() or isinstance(error, MemoryError):
                raise
            raise Failure(
                "bad_model",
                f"The model's files cannot be loaded as {auto_class.removeprefix('AutoModelFor')}: "
                f"{_first_line(error)}",
                "Choose another model, or correct its config.json if it does not belong to these weights.",
                f"{type(error).__name__}: {error}"[:2000],
            ) from error
        except ImportError as error:
            raise Failure("dependency_missing", _first_line(error), evidence=str(error)[:2000]) from error

    def adapt(
        self, job: Job, model: PreTrainedModel, task_type: str, also_train: list[str] | None = None
    ) -> PreTrainedModel:
        """`model` with LoRA, initialized with the run's seed or as the adapter that the run goes on from;
        with `adapter: full`, the model itself."""
        import peft

        if job.settings.adapter == "full":
            from transformers import set_seed

            if job.family == "causal" and job.spec.export is not None:
                whole.refuse_unplaced(model, job.config, stored_shapes(job.model_dir))
            set_seed(job.settings.seed)
            return model.requires_grad_(True)
        adapted = peft.get_peft_model(model, self.lora(job, model, task_type, also_train))
        if job.spec.start is not None:
            load_start(adapted, job.spec.start)
        return adapted

    def adapt_for_pairs(self, job: Job, model: PreTrainedModel) -> tuple[PreTrainedModel, LoraConfig | None]:
        """`model`, and the LoRA configuration for the trainer of pairs, which keeps a second copy of an
        existing adapter."""
        return model, self.lora(job, model, "CAUSAL_LM")

    def lora(
        self, job: Adapted, model: PreTrainedModel, task_type: str, also_train: list[str] | None = None
    ) -> LoraConfig:
        """The LoRA configuration for `model`; sets the run's seed for its initialization.

        Failure `unsupported` when the target modules cannot have LoRA.
        """
        import peft
        from transformers import set_seed

        settings = job.settings
        if settings.adapter == "full":
            raise Failure(
                "unsupported", "All weights are trained by the strategy sft only.", "Set adapter to lora."
            )
        dropout = settings.lora_dropout
        embeddings = trained_embeddings(model, settings, job.tokenizer if settings.new_tokens else None)
        # Heads of other tasks, and what settings name.
        also_train = [*(also_train or []), *embeddings.pop("modules_to_save", [])] or None
        stored = mergeable(model, job.config, job.model_dir)
        targets = choose_targets(
            model, settings.target_modules, dropout, also_train, stored, settings.target_experts
        )
        if settings.adapter == "dora" and targets.parameters:
            raise Failure(
                "unsupported",
                "DoRA has no magnitudes for experts, nor for layers that PEFT takes for parts of experts.",
                "Set adapter to lora or rslora, or name other target_modules.",
            )
        set_seed(settings.seed)
        return peft.LoraConfig(
            r=settings.lora_r,
            use_rslora=settings.adapter == "rslora",
            use_dora=settings.adapter == "dora",
            lora_alpha=settings.lora_alpha,
            lora_dropout=dropout,
            target_modules=targets.modules,
            target_parameters=targets.parameters or None,
            modules_to_save=also_train,
            task_type=task_type,
            bias="none",
            **embeddings,
        )


class _Beating:
    """Replaces the progress bar of loading: beats for every weight, and tells how many are loaded."""

    def __init__(self, items: Iterable[object], job: Job) -> None:
        self._items = items
        self._job = job

    def __iter__(self) -> Iterator[object]:
        total = len(self._items) if isinstance(self._items, Sized) else 0
        report = self._job.reports("load")
        for done, item in enumerate(self._items, 1):
            self._job.beat_or_stop()
            yield item
            if total:
                report(done / total, f"model: {done:,} of {total:,} parts")

    def __getattr__(self, name: str) -> object:
        return lambda *args, **kwargs: None


def _first_line(error: Exception) -> str:
    """What the library says, up to the end of its first line."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__


def _keep_differentiable(model: PreTrainedModel) -> None:
    """Disables a repacking of 4-bit layers: on processors with AVX-512 BF16, bitsandbytes repacks them in the
    first evaluation for a kernel without a gradient, and training continues without one."""
    for module in model.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False
