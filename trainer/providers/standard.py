"""The standard provider: transformers and PEFT, on every platform and every architecture they have."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from trainer.failures import Failure
from trainer.hardware import Hardware, quantization
from trainer.targets import check_targets

if TYPE_CHECKING:
    from trainer.contracts import Settings
    from trainer.job import Job


NEEDED = ("torch", "transformers", "trl", "peft", "datasets", "jinja2")


class Standard:
    """Loads models with transformers and puts LoRA on them with PEFT."""

    name = "standard"
    order = 1
    # Whether it brings kernels of its own, which ours must not replace.
    own_kernels = False
    # What it means that it cannot run, and what to do about it.
    absence = ("dependency_missing", "Run `npm start` again, which repairs trainer/.venv.")

    def availability(self) -> tuple[bool, str | None]:
        """Whether it can run here, and why not."""
        missing = [name for name in NEEDED if find_spec(name) is None]
        return (not missing, f"Python packages are missing: {', '.join(missing)}." if missing else None)

    def refuse(self, config: dict[str, Any], family: str, settings: Settings) -> None:
        """Failure `unsupported` for a model or settings that it does not train: there are none."""

    def prepare(self, job: Job) -> None:
        """What must come before transformers: nothing."""

    def tokenizer(self, job: Job) -> Any:
        """The model's tokenizer; Failure `bad_tokenizer` when it cannot be read."""
        from transformers import AutoTokenizer

        try:
            return AutoTokenizer.from_pretrained(
                job.model_dir, trust_remote_code=False, local_files_only=True
            )
        except Exception as error:
            raise Failure(
                "bad_tokenizer",
                "The model's tokenizer cannot be read.",
                "Choose a model with a tokenizer.json; or download it again, if a file of it is damaged.",
                f"{type(error).__name__}: {error}"[:2000],
            ) from error

    def base(self, job: Job, hardware: Hardware, auto_class: str, **options: Any) -> Any:
        """The frozen base model, loaded by transformers' class `auto_class` with further `options` of its
        configuration; beats while it loads.

        Failure `bad_model` when the files do not make a model of that kind.
        """
        import torch
        import transformers
        from transformers.utils import logging

        def beating(factory: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            items = args[0] if args else kwargs.get("iterable")
            return _Beating(items, job) if items is not None else factory(*args, **kwargs)

        # A head that the files lack (of a reward model, say) is drawn while they are loaded.
        transformers.set_seed(job.settings.seed)
        before = logging.set_tqdm_hook(beating)
        try:
            model = getattr(transformers, auto_class).from_pretrained(
                job.model_dir,
                dtype=getattr(torch, hardware.weights),
                quantization_config=quantization(job.settings, hardware),
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=True,
                **options,
            )
            _keep_differentiable(model)
            return model
        except (ValueError, KeyError, RuntimeError) as error:
            if "out of memory" in str(error).lower() or isinstance(error, MemoryError):
                raise
            raise Failure(
                "bad_model",
                f"The model's files cannot be loaded as {auto_class.removeprefix('AutoModelFor')}.",
                "Choose another model; or, if its files may be damaged, delete them from the hub cache and "
                "start again.",
                f"{type(error).__name__}: {error}"[:2000],
            ) from error
        finally:
            logging.set_tqdm_hook(before)

    def adapt(self, job: Job, model: Any, task_type: str, also_train: list[str] | None = None) -> Any:
        """`model` with LoRA on it, initialized from the run's seed."""
        import peft

        return peft.get_peft_model(model, self.lora(job, model, task_type, also_train))

    def adapt_for_pairs(self, job: Job, model: Any) -> tuple[Any, Any]:
        """`model`, and the LoRA that a trainer of pairs puts on it: of a model that is adapted already the
        library would keep a second adapter."""
        return model, self.lora(job, model, "CAUSAL_LM")

    def lora(self, job: Job, model: Any, task_type: str, also_train: list[str] | None = None) -> Any:
        """The configuration of LoRA for `model`; sets the run's seed, from which it is then initialized.

        Failure `unsupported` when the target modules name nothing in this model.
        """
        import peft
        from transformers import set_seed

        settings = job.settings
        check_targets(model, settings.target_modules)
        set_seed(settings.seed)
        return peft.LoraConfig(
            r=settings.lora_r,
            lora_alpha=settings.lora_alpha,
            lora_dropout=settings.lora_dropout,
            target_modules=settings.target_modules or "all-linear",
            modules_to_save=also_train,
            task_type=task_type,
            bias="none",
        )


class _Beating:
    """A loop over the weights as they are loaded, that beats; stands in for a progress bar."""

    def __init__(self, items: Any, job: Job) -> None:
        self._items = items
        self._job = job

    def __iter__(self) -> Any:
        for item in self._items:
            self._job.alive()
            yield item

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


def _keep_differentiable(model: Any) -> None:
    """On processors with AVX-512 BF16, bitsandbytes repacks a 4-bit layer at its first evaluation for a
    kernel that has no gradient, and training would silently go on without one. Repacking is switched off."""
    for module in model.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False
