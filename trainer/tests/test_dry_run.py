"""The export is tried before the training, once for a base, and what fails then is told."""

from __future__ import annotations

import json
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from trainer.data import template as templates
from trainer.dry_run.cut import cut
from trainer.dry_run.fork import Fork
from trainer.dry_run.start import dry_run
from trainer.export import learned, node_tools
from trainer.export.gguf import converter_input
from trainer.export.merge.weights import StoredTensor
from trainer.model.tokenizer import load_tokenizer
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import read_spec
from trainer.protocol.failures import Failure
from trainer.protocol.stop import Stopped
from trainer.tests import export_fixture, jobs, tiny
from trainer.tests.architectures import toys


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.build("qwen3", tmp_path_factory.mktemp("base"), "chatml")


def job(folder: Path, base: Path, required: bool = True, **settings: Any) -> JobContext:
    tools = {**export_fixture.TOOLS, "bases": str(folder.parent / "bases")}
    top = {"export": {"quantizations": ["Q8_0"], "required": required}, "tools": tools}
    return JobContext.open(read_spec(jobs.make(folder, base, None, top, **settings)))


def phases(context: JobContext) -> list[dict[str, Any]]:
    """The lines about the trial."""
    found = jobs.journal(context.folder / "spec.json", "phase")
    return [line for line in found if line["phase"] == "dry_run"]


def test_a_base_is_tried_once(base: Path, tmp_path: Path) -> None:
    first = job(tmp_path / "first", base)
    dry_run(first)
    lines = phases(first)
    details = [line["detail"] for line in lines]
    told = ["starting", "vocabulary", "1 of 2 layers in transformers", "converting", "loading"]
    assert list(dict.fromkeys(details)) == told
    assert [line["progress"] for line in lines] == sorted(line["progress"] for line in lines)
    found = learned.read(first.folder / learned.NOTE)["learned"]
    assert (found["layers"], found["of"]) == (1, 2) and found["difference"] < 0.01
    assert not list(first.folder.glob("*.partial"))
    second = job(tmp_path / "second", base)
    dry_run(second)
    assert phases(second) == [] and second.spec.export is not None
    assert learned.read(second.folder / learned.NOTE)["learned"] == found
    # Another choice of the request may not be exportable.
    third = job(tmp_path / "third", base, target_modules=["q_proj"])
    dry_run(third)
    assert phases(third)


def test_what_would_fail_is_told_before_the_training(tmp_path: Path) -> None:
    """llama.cpp has no sliding window for Mistral, so its answers to longer texts are others."""
    base = tiny.build("mistral", tmp_path / "base", "chatml")
    config = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps({**config, "sliding_window": 8}))
    with pytest.raises(Failure, match=r"llama\.cpp computes other answers than transformers") as failure:
        dry_run(job(tmp_path / "asked", base))
    assert failure.value.code == "unsupported" and "export to none" in failure.value.advice
    context = job(tmp_path / "not-asked", base, required=False)
    dry_run(context)
    assert context.spec.export is None
    warning = jobs.journal(context.folder / "spec.json", "warning")[0]
    assert warning["code"] == "no_gguf" and "standard deviations" in warning["message"]
    assert learned.obstacle(learned.read(context.folder / learned.NOTE))
    # A resumed run does not try or say it again.
    resumed = JobContext.open(read_spec(context.folder / "spec.json"))
    lines = len(jobs.journal(context.folder / "spec.json"))
    dry_run(resumed)
    assert resumed.spec.export is None and len(jobs.journal(context.folder / "spec.json")) == lines


def test_a_tokenizer_that_ended_llama_cpp_is_read_as_what_it_is(tmp_path: Path) -> None:
    """As transformers writes it from a GGUF: byte-level, and with a fallback to bytes that it has no tokens
    for."""
    base = tiny.build("llama", tmp_path / "base", "chatml")
    tokenizer = json.loads((base / "tokenizer.json").read_text("utf-8"))
    tokenizer["model"]["byte_fallback"] = True
    (base / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    context = job(tmp_path / "job", base)
    dry_run(context)
    assert "learned" in learned.read(context.folder / learned.NOTE)


def test_what_ends_llama_cpp_is_found(base: Path, tmp_path: Path) -> None:
    """A token that no bytes stand for."""
    copy = shutil.copytree(base, tmp_path / "base")
    text = (copy / "tokenizer.json").read_text("utf-8")
    tokenizer = json.loads(text)
    del tokenizer["pre_tokenizer"], tokenizer["decoder"]
    tokenizer["model"]["byte_fallback"] = True
    (copy / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    with pytest.raises(Failure, match=r"llama\.cpp") as failure:
        dry_run(job(tmp_path / "job", copy))
    assert failure.value.code in ("bad_tokenizer", "unsupported")


def test_what_the_converter_cannot_convert_is_told(tmp_path: Path) -> None:
    base = toys.build("bitnet", tmp_path / "base")
    with pytest.raises(Failure, match=r"converter cannot convert this model: .*ffn_sub_norm") as failure:
        dry_run(job(tmp_path / "job", base))
    assert failure.value.code == "unsupported"


def test_a_vocabulary_of_sentencepiece_alone_reads_as_in_training(tmp_path: Path) -> None:
    base = export_fixture.make_base("mistral-sp", tmp_path / "base")
    (base / "tokenizer.json").unlink()
    tokens = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    (base / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "LlamaTokenizer", **tokens}))
    context = job(tmp_path / "job", base)
    dry_run(context)
    found = learned.read(context.folder / learned.NOTE)["learned"]
    assert found["options"]["add_space_prefix"] is not None and found["difference"] < 0.01


@pytest.mark.parametrize("kind", ["qwen3", "gpt2", *export_fixture.SENTENCEPIECE_KINDS, "phi3-chat"])
def test_the_converter_s_tokenizer_is_that_of_the_base(kind: str, tmp_path: Path) -> None:
    """The trial converts with the base's own instead of loading it again from the converter's input."""
    base = export_fixture.make_base(kind, tmp_path / "base")
    config = json.loads((base / "config.json").read_text())
    loaded = load_tokenizer(base)
    template = templates.choose(loaded, config, None)
    (tmp_path / "input").mkdir()
    again = load_tokenizer(converter_input.build(base, tmp_path / "input", template, config))
    assert loaded.get_vocab() == again.get_vocab()
    assert loaded.get_added_vocab() == again.get_added_vocab()
    flags = [{at: repr(token) for at, token in one.added_tokens_decoder.items()} for one in (loaded, again)]
    assert flags[0] == flags[1]


def test_a_stop_ends_the_trial(base: Path, tmp_path: Path) -> None:
    context = job(tmp_path / "job", base)
    (context.folder / "stop").touch()
    with pytest.raises(Stopped):
        dry_run(context)
    assert not (context.folder / learned.NOTE).exists()
    assert not list((tmp_path / "bases").glob("*"))


def test_a_fork_is_followed_like_a_process() -> None:
    # A run only notes it; a fork ends by it, however early it comes.
    signal.signal(signal.SIGTERM, lambda *_: None)
    heard: list[str] = []
    assert node_tools.follow(Fork(lambda: print("one\ntwo") or 3), heard.append, lambda: None) == 3
    assert heard == ["one", "two"]
    fork = Fork(lambda: time.sleep(600) or 0)

    def stop() -> None:
        raise Stopped

    with pytest.raises(Stopped):
        node_tools.follow(fork, heard.append, stop)
    assert fork.poll() == -signal.SIGTERM
    for _ in range(20):
        fork = Fork(lambda: time.sleep(600) or 0)
        fork.terminate()
        assert fork.wait(60) == -signal.SIGTERM
        fork.stdout.close()


def stored(**shapes: tuple[int, ...]) -> dict[str, StoredTensor]:
    """Tensors by name, with `_` for `.`."""
    names = {name.replace("_", "."): shape for name, shape in shapes.items()}
    return {name: StoredTensor(name, Path("x"), "F32", shape, 0, 4) for name, shape in names.items()}


def test_a_cut_has_every_kind_of_layer() -> None:
    tensors = stored(
        embed=(9, 4),
        layers_0_a=(4, 4),
        layers_1_a=(4, 4),
        layers_2_b=(4, 4),
        layers_3_a=(4, 4),
        layers_4_head=(1,),
    )
    config = {
        "num_hidden_layers": 4,
        "layer_types": ["full", "sliding", "full", "full"],
        "eos_token_id": [1, 2, 3, 4],
        "attn_layer_indices": [0, 3],
        "rope_parameters": {"factors": [1, 2, 3, 4]},
        "hybrid_override_pattern": "MM*M",
    }
    part = cut(config, tensors)
    # The layer behind the last one predicts a further token and comes along.
    assert list(part.tensors) == ["embed", "layers.0.a", "layers.1.a", "layers.2.b", "layers.3.head"]
    assert part.config({**config, "text_config": {"n_layer": 4}}) == {
        **config,
        "num_hidden_layers": 3,
        "layer_types": ["full", "sliding", "full"],
        "attn_layer_indices": [0],
        "hybrid_override_pattern": "MM*",
        "text_config": {"n_layer": 3},
    }
    same = cut({"num_hidden_layers": 4}, stored(**{f"layers_{number}_a": (4, 4) for number in range(4)}))
    assert (same.layers, same.of, list(same.tensors)) == (1, 4, ["layers.0.a"])
    assert cut({"num_hidden_layers": 4, "num_kv_shared_layers": 2}, tensors).layers == 4


def test_a_cut_keeps_what_is_said_of_its_layers_by_their_numbers() -> None:
    tensors = stored(layers_0_a=(4, 4), layers_1_a=(4, 4), layers_2_b=(4, 4), layers_3_a=(4, 4))
    config = {
        "num_hidden_layers": 4,
        "per_layer_config": {"1": {"head_dim": 8}, "3": {"head_dim": 8}},
        "linear_attn_config": {"full_attn_layers": [2, 4], "kda_layers": [1, 3], "num_heads": 2},
        # Neither is about these layers.
        "vision_config": {"num_hidden_layers": 8, "intermediate_layers_indices": [1, 3, 7]},
        "id2label": {"3": "N/A"},
    }
    assert cut(config, tensors).config(config) == {
        **config,
        "num_hidden_layers": 3,
        "per_layer_config": {"1": {"head_dim": 8}},
        "linear_attn_config": {"full_attn_layers": [2], "kda_layers": [1, 3], "num_heads": 2},
    }


def test_a_cut_keeps_a_layer_behind_those_that_a_vision_encoder_adds_to() -> None:
    """llama.cpp ends with an assertion where the last layer is one of them."""
    tensors = stored(**{f"layers_{number}_a": (4, 4) for number in range(4)})
    config = {"text_config": {"num_hidden_layers": 4}, "vision_config": {"deepstack_visual_indexes": [3, 7]}}
    assert cut(config, tensors).layers == 3


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(toys.TOYS))
def test_every_toy_is_exported_or_refused_before_its_training(name: str, tmp_path: Path) -> None:
    context = job(tmp_path / "job", toys.build(name, tmp_path / "base"), required=False)
    dry_run(context)
    note = learned.read(context.folder / learned.NOTE)
    assert "learned" in note or learned.obstacle(note)
