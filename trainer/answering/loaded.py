"""A base model with the adapters of its trainings, as the playground asks it."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trainer.answering.answer_text import AnswerText
from trainer.data import template as templates
from trainer.data.encode import text_start
from trainer.data.job import Job
from trainer.data.thinking import decoder, without_switch
from trainer.export import full_precision
from trainer.export.new_tokens.grow import grow, grown
from trainer.model import check, download, whole
from trainer.model.hardware import choose
from trainer.model.quantization import quantized
from trainer.model.view import make_view
from trainer.protocol.contracts import PROTOCOL, DatasetFile, Model, Settings, Spec
from trainer.protocol.failures import Failure
from trainer.protocol.silent import NoStop, SilentJournal
from trainer.registry import create

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

    from trainer.answering.messages import AdapterOrder, Answered, GenerateOrder, LoadOrder, Stopped

CLASSES = {
    "causal": "AutoModelForCausalLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
    "extractive": "AutoModelForQuestionAnswering",
}
# The head that is trained with a model that answers with a span.
HEAD = "qa_outputs"
# Tokens of a window for encoders that name no limit, as BERT's.
WINDOW_TOKENS = 512
# Tokens of an answer that goes on, which the text of its next one depends on.
SEEN_TOKENS = 8
# Where an answer is cut out of its rendering.
MARK = "\U000f0000"


def load(job: Job) -> PreTrainedModel:
    """The model of `job`, by the class of its family."""
    options = {"num_labels": 2} if job.family == "extractive" else {}
    return job.provider.base(job, choose(job.settings, job.config), CLASSES[job.family], **options)


class Loaded:
    """One base model in memory. `step` is called at every sign of progress."""

    def __init__(self, order: LoadOrder, step: Callable[[], None]) -> None:
        """Loads what the message `load` names (src/inference/engine/trained-engine.ts). Raises Failure."""
        self._step = step
        job = _job(order, step)
        self._job = job
        directory = _base_directory(job.spec)
        job.config = check.read_config(directory, job.spec.model.name)
        job.family = check.family(job.config, job.task, job.strategy)
        check.check_weights(directory, job.spec.model.name)
        scratch = Path(order["scratch"])
        try:
            job.model_dir = grow(make_view(directory, scratch), job.spec)
            job.config = grown(job.config, job.model_dir)
            if quantized.is_unpacked(job.config):
                full_precision.dequantize(scratch, lambda share: step())
                job.config = quantized.without_quantization(job.config)
            job.tokenizer = job.provider.tokenizer(job)
            job.template = templates.load(Path(order["templatePath"]))
            # As a decoder does in training, where the template is chosen.
            if job.tokenizer.pad_token is None:
                job.tokenizer.pad_token = job.tokenizer.eos_token
            self._model = load(job)
            self._has_head = job.family != "extractive" or names_head(scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        self._model = self._ready(self._model)
        self._adapters: dict[str, str] = {}
        # The model, all of whose weights were trained, that was asked last, and its folder.
        self._whole: tuple[str, PreTrainedModel] | None = None

    def answer(
        self, order: GenerateOrder, stopped: Callable[[], bool], show: Callable[[str], None]
    ) -> Answered:
        """Answers the message `generate`, unless `stopped`, and passes on its text; returns the `result` of
        `done`. Raises Failure."""
        import torch

        started = time.monotonic()
        prompt = self._prompt(order)
        first: list[float] = []

        def shown(piece: str) -> None:
            if piece:
                first.append(time.monotonic())
                pieces.append(piece)
                show(piece)

        pieces: list[str] = []
        with self._adapted(order["adapters"]) as model, torch.inference_mode():
            answer = self._find if self._job.family == "extractive" else self._write
            prompt_tokens, generated, reason, stop = answer(model, order, prompt, stopped, shown)
        ended = time.monotonic()
        stop_fields: Stopped = {} if stop is None or stop not in order["stop"] else {"stoppedAt": stop}
        return {
            **stop_fields,
            "text": "".join(pieces),
            "promptTokens": prompt_tokens,
            "cachedTokens": 0,
            "generatedTokens": generated,
            "finishReason": reason,
            "timeToFirstTokenMs": ((first[0] if first else ended) - started) * 1000,
            "durationMs": (ended - started) * 1000,
        }

    def _prompt(self, order: GenerateOrder) -> _Prompt:
        given = order["input"]
        if given["kind"] == "text":
            return _Prompt(given["text"], is_raw=True)
        messages, thinking = given["messages"], given.get("thinking")
        if self._job.family == "causal":
            if given.get("continues"):
                return _Prompt(self._rendered(messages[:-1], thinking), self._begun(messages, thinking))
            return _Prompt(self._rendered(messages, thinking))
        if [message["role"] for message in messages] != ["user"]:
            raise Failure(
                "unsupported",
                "This model reads one input and writes one answer: it was not trained on conversations or "
                "system messages.",
                "Send one message with the role user.",
            )
        return _Prompt(messages[0]["content"], is_raw=True)

    def _begun(self, messages: list[dict[str, str]], thinking: bool | None) -> str:
        """The beginning of an answer as training writes it (src/inference/template/begun-answer.ts)."""
        *asked, last = messages
        if thinking is False and not last.get("reasoning_content"):
            return last["content"]
        field = "content" if last["content"] else "reasoning_content"
        marked = {**last, field: last[field] + MARK}
        answer, found, _ = templates.split(self._job.template, [*asked, marked])[1].partition(MARK)
        if not found:
            raise Failure(
                "unsupported",
                "The model's template does not take up reasoning.",
                "Ask for the answer again, with more tokens.",
            )
        return answer

    def _rendered(self, messages: list[dict[str, str]], thinking: bool | None) -> str:
        """A prompt, as `src/inference/template/render.ts` renders it: `thinking` turns reasoning on or off
        where the template can, and off ends reasoning that it begins all the same."""
        template = self._job.template
        described = template.thinking
        if described is None or thinking is None:
            return templates.render(template, messages, True)
        switch = described["switch"]
        prompt = templates.render(template, messages, True, {switch: thinking} if switch else {})
        return prompt if thinking else prompt + without_switch(described, prompt)

    @contextlib.contextmanager
    def _adapted(self, adapters: list[AdapterOrder]) -> Iterator[PreTrainedModel]:
        """The model with the adapter that a request names, or the base model without one."""
        if not adapters:
            if not self._has_head:
                raise Failure(
                    "unsupported",
                    "The base model has no head that answers questions: training added it.",
                    "Ask the fine-tuned model.",
                )
            without = self._model.disable_adapter() if self._adapters else contextlib.nullcontext()
            with without:
                yield self._model
            return
        if len(adapters) > 1 or adapters[0]["scale"] != 1:
            raise Failure(
                "unsupported",
                "This model answers with one adapter at full strength.",
                "Leave the others out.",
            )
        path = adapters[0]["path"]
        if whole.is_whole(Path(path)):
            yield self._whole_model(path)
            return
        if path not in self._adapters:
            self._load_adapter(path)
        self._model.set_adapter(self._adapters[path])
        yield self._model

    def _ready(self, model: PreTrainedModel) -> PreTrainedModel:
        """`model`, as it answers."""
        model.to(choose(self._job.settings, self._job.config).device)
        if getattr(model, "generation_config", None) is not None:
            # BART's ends an answer that is cut as if it were complete.
            model.generation_config.forced_eos_token_id = None
        return model.eval()

    def _whole_model(self, path: str) -> PreTrainedModel:
        """The model in the folder `path`, in memory beside its base until another is asked."""
        if self._whole is None or self._whole[0] != path:
            self._whole = None
            self._whole = path, self._ready(load(self._job.of_folder(Path(path))))
        return self._whole[1]

    def _load_adapter(self, path: str) -> None:
        from peft import PeftModel

        name = f"adapter-{len(self._adapters)}"
        if not (Path(path) / "adapter_config.json").is_file():
            raise Failure("internal", f"The adapter in {path} is gone.", "Choose another model.")
        if self._adapters:
            self._model.load_adapter(path, name)
        else:
            self._model = PeftModel.from_pretrained(self._model, path, adapter_name=name)
        self._model.eval()
        self._adapters[path] = name

    def _write(
        self,
        model: PreTrainedModel,
        order: GenerateOrder,
        prompt: _Prompt,
        stopped: Callable[[], bool],
        show: Callable[[str], None],
    ) -> tuple[int, int, str, str | None]:
        """Writes an answer token by token, greedily as the samples of a training, or sampled."""
        import torch

        job = self._job
        decodes = job.family == "causal"
        ids, begun = self._input_ids(prompt)
        limit = job.template.context_length
        if limit is not None and len(ids) >= limit + (not decodes):
            raise PromptTooLong(len(ids), limit)
        room = order["maxTokens"] if limit is None else min(order["maxTokens"], limit - len(ids) * decodes)
        ends = self._end_tokens()
        stops = [*job.template.stop, *order["stop"]] if decodes and not prompt.is_raw else order["stop"]
        described = None if prompt.is_raw else job.template.thinking
        answer = AnswerText(decoder(job.tokenizer, described), stops, begun)
        pieces = _Pieces(answer, ends, show)

        def criterion(input_ids: Tensor, scores: Tensor, **kwargs: object) -> Tensor:
            self._step()
            ended = answer.stop is not None or stopped()
            return torch.full((input_ids.shape[0],), ended, dtype=torch.bool, device=input_ids.device)

        row = torch.tensor([ids], device=model.device)
        seed = order["seed"]
        torch.manual_seed(torch.seed() if seed is None else seed)
        model.generate(
            input_ids=row,
            attention_mask=torch.ones_like(row),
            max_new_tokens=max(1, room),
            num_beams=1,
            use_cache=True,
            eos_token_id=ends or None,
            pad_token_id=job.tokenizer.pad_token_id,
            stopping_criteria=[criterion],
            streamer=pieces,
            **_sampling(order),
        )
        show(answer.end())
        if pieces.ended or answer.stop is not None:
            return len(ids), pieces.count, "stop", answer.stop
        return len(ids), pieces.count, "aborted" if stopped() else "length", None

    def _input_ids(self, prompt: _Prompt) -> tuple[list[int], list[int]]:
        """The tokens that the model reads, and the last of those that the answer goes on from."""
        tokenizer = self._job.tokenizer
        if self._job.family != "causal":
            return tokenizer(prompt.text).input_ids, []
        start = text_start(tokenizer) if prompt.is_raw else []

        def ids_of(text: str) -> list[int]:
            return tokenizer(text, add_special_tokens=False).input_ids

        before = [*start, *ids_of(prompt.text)]
        if not prompt.begun:
            return before, []
        # As in training: apart where the tokenizer would join the prompt with its answer.
        whole = ids_of(prompt.text + prompt.begun)
        ids = whole if whole[: len(before)] == before else [*before, *ids_of(prompt.begun)]
        return ids, ids[len(before) :][-SEEN_TOKENS:]

    def _end_tokens(self) -> list[int]:
        """The tokens that end an answer: those of the template, and of the model's configuration."""
        tokenizer = self._job.tokenizer
        configured = self._model.generation_config.eos_token_id
        ends = [tokenizer.convert_tokens_to_ids(stop) for stop in self._job.template.stop]
        ends += configured if isinstance(configured, list) else [configured]
        return [*dict.fromkeys(token for token in ends if token is not None)]

    def _find(
        self,
        model: PreTrainedModel,
        order: GenerateOrder,
        prompt: _Prompt,
        stopped: Callable[[], bool],
        show: Callable[[str], None],
    ) -> tuple[int, int, str, str | None]:
        """Finds the answer in the text before the question, the same way as at evaluations of a training."""
        from trainer.families.extractive import LONGEST_SPAN, best_span

        context, separator, question = prompt.text.rstrip().rpartition("\n\n")
        if not separator or not context.strip() or not question.strip():
            raise Failure(
                "unsupported",
                "This model finds answers in a text that it is given.",
                "Send the text, a blank line, and the question as the last paragraph.",
            )
        limits = (self._job.settings.max_seq_length, self._job.template.context_length)
        length = min((limit for limit in limits if limit is not None and limit > 0), default=WINDOW_TOKENS)
        tokens = len(self._job.tokenizer(question, context).input_ids)

        def keep_on() -> bool:
            self._step()
            return not stopped()

        longest = min(LONGEST_SPAN, order["maxTokens"])
        span = best_span(self._job.tokenizer, model, question, context, length, longest, keep_on)
        if stopped():
            return tokens, 0, "aborted", None
        cuts = [(at, stop) for stop in order["stop"] if (at := span.text.find(stop)) >= 0]
        first = min(cuts, key=lambda cut: cut[0]) if cuts else None
        show(span.text[: first[0]] if first else span.text)
        return tokens, span.tokens, "stop", first[1] if first else None


@dataclass(frozen=True)
class _Prompt:
    """The text that the model reads, the answer's beginning if it goes on from there, and whether the text is
    to be taken as it is."""

    text: str
    begun: str = ""
    is_raw: bool = False


class _Pieces:
    """Receives the tokens of a generation, of which the first are its input."""

    def __init__(self, answer: AnswerText, ends: list[int], show: Callable[[str], None]) -> None:
        self._answer = answer
        self._ends = set(ends)
        self._show = show
        self._is_input = True
        self.count = 0
        self.ended = False

    def put(self, value: Tensor) -> None:
        """Takes tokens."""
        if self._is_input:
            self._is_input = False
            return
        for token in value.reshape(-1).tolist():
            if token in self._ends:
                self.ended = True
                return
            # A generation ends a token after the criterion says so.
            if self._answer.stop is not None:
                return
            self.count += 1
            self._show(self._answer.push(token))

    def end(self) -> None:
        """The generation has ended."""


def _sampling(order: GenerateOrder) -> dict[str, object]:
    """The options of a generation for a request's temperature and top_p; at 0 it is greedy."""
    if order["temperature"] == 0:
        return {"do_sample": False}
    return {"do_sample": True, "temperature": order["temperature"], "top_p": order["topP"], "top_k": 0}


class PromptTooLong(Failure):
    """A prompt with more tokens than the model reads."""

    def __init__(self, tokens: int, limit: int) -> None:
        super().__init__(
            "unsupported",
            f"The prompt has {tokens} tokens, but the model's context holds {limit}.",
            "Shorten the prompt.",
        )
        self.details = {"promptTokens": tokens, "contextTokens": limit}


def _job(order: LoadOrder, step: Callable[[], None]) -> Job:
    """The part of a job that loading a model needs; it reports to nobody."""
    known = {name: value for name, value in order["settings"].items() if name in Settings.__struct_fields__}
    spec = Spec(
        protocol=PROTOCOL,
        job_id="",
        job_dir=order["scratch"],
        task=order["task"],
        provider="standard",
        strategy=order["strategy"],
        model=msgspec.convert(order["base"], Model),
        dataset=DatasetFile("", "", 0),
        settings=msgspec.convert(known, Settings),
        export=None,
        tensorboard_dir=None,
        tools=None,
    )
    return Job(
        spec=spec,
        journal=SilentJournal(),
        heartbeat=_Steps(step),
        stop=NoStop(),
        task=create("task", spec.task),
        strategy=create("strategy", spec.strategy),
        provider=create("provider", spec.provider),
        resume=None,
    )


class _Steps:
    """A heartbeat that counts."""

    def __init__(self, step: Callable[[], None]) -> None:
        self._step = step

    def beat(self) -> None:
        """A step."""
        self._step()


def _base_directory(spec: Spec) -> Path:
    """The base model's folder. It was downloaded before the training; nothing is fetched here."""
    gone = "Put it back, or delete the fine-tuned model."
    if spec.model.path is not None:
        folder = Path(spec.model.path)
        if not folder.is_dir():
            raise Failure("model_not_accessible", f"The base model is no longer in {folder}.", gone)
        return folder
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return download.find_downloaded(spec.model.name)
    except LocalEntryNotFoundError as error:
        raise Failure(
            "model_not_accessible", f"The base model {spec.model.name} is no longer in the hub cache.", gone
        ) from error


def names_head(folder: Path) -> bool:
    """Whether a model's own weights have the head that answers questions."""
    from safetensors import safe_open

    for path in folder.glob("*.safetensors"):
        with safe_open(path, "pt") as file:
            if any(HEAD in name for name in file.keys()):  # noqa: SIM118
                return True
    return False
