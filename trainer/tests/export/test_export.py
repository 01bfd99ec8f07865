"""The parts of the export: the converter's known failures, adapters, architectures, Modelfile, judgement."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trainer.export.gguf import convert, converter_input
from trainer.export.merge import adapter, weights
from trainer.export.places import canonical
from trainer.export.tokenizer import options, pretokenizer
from trainer.export.verification import independent
from trainer.export.verification.compare import SHOWN_CHARACTERS, SHOWN_TOKENS, Difference, compare
from trainer.export.verification.reference import EMPTY, Reference
from trainer.model import architectures
from trainer.model.config import complete_config
from trainer.protocol.failures import Failure
from trainer.tests import export_fixture

CONVERTER = export_fixture.CONVERTER


def convert_plain(
    base: Path, out: Path, name: str = "tiny", quantization: str = "F32", adds_bos: bool | None = None
) -> Path:
    """Converts `base` with an adapter that changes nothing."""
    folder = out.with_suffix(".input")
    folder.mkdir()
    convert.convert(
        converter_dir=CONVERTER,
        source=converter_input.build(base, folder, None, complete_config(base)),
        tensors=weights.index_checkpoint(base),
        adapter=adapter.Adapter(),
        destination=out,
        quantization=quantization,
        name=name,
        options=options.candidates(base)[0],
        adds_bos=adds_bos,
        on_progress=lambda share: None,
    )
    return out


def field(gguf: Path, key: str) -> Any:
    """A metadata value of a GGUF."""
    convert.load_converter(CONVERTER)
    import gguf as library

    found = library.GGUFReader(gguf).get_field(key)
    return None if found is None else found.contents()


def test_a_file_says_whether_texts_begin_with_the_bos_token_unless_the_converter_does(tmp_path: Path) -> None:
    base = export_fixture.make_base("llama", tmp_path / "base")
    key = "tokenizer.ggml.add_bos_token"
    for adds_bos in (None, True, False):
        assert field(convert_plain(base, tmp_path / f"{adds_bos}.gguf", adds_bos=adds_bos), key) is adds_bos
    settings = base / "tokenizer_config.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "add_bos_token": True}))
    assert field(convert_plain(base, tmp_path / "said.gguf", adds_bos=False), key) is True


def tokens_of(gguf: Path, texts: list[str]) -> list[list[int]]:
    """The texts as llama.cpp's tokens."""
    request = json.dumps({"gguf": str(gguf), "sequences": [], "texts": texts})
    told = subprocess.run(export_fixture.TOOLS["score"], input=request.encode(), capture_output=True)
    assert told.returncode == 0, told.stderr.decode()
    return json.loads(told.stdout)["texts"]


# The five failures of the converter that are known.


def test_1_an_unknown_byte_level_tokenizer_gets_its_pre_tokenizer_by_its_split(tmp_path: Path) -> None:
    from tokenizers import Regex, Tokenizer, pre_tokenizers
    from transformers import AutoTokenizer

    base = export_fixture.make_base("llama", tmp_path / "base")
    texts = ["It's 12345 o'clock,\n\n  don't  WAIT… Ünïcödé 漢字 🚀\t!", "x=3.14;  y= -2 \r\n end "]
    splits = {
        "trillion": pre_tokenizers.ByteLevel(add_prefix_space=False),
        "smollm": pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        ),
        **{
            name: pre_tokenizers.Sequence(
                [
                    pre_tokenizers.Split(Regex(pattern), "isolated"),
                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
                ]
            )
            for name, pattern in (
                ("dbrx", pretokenizer.LLAMA3),
                ("qwen2", pretokenizer.QWEN2),
                ("gpt-4o", pretokenizer.GPT4O),
            )
        },
    }
    for name, split in splits.items():
        core = Tokenizer.from_file(str(base / "tokenizer.json"))
        core.pre_tokenizer = split
        core.save(str(base / "tokenizer.json"))
        assert pretokenizer.derive(base / "tokenizer.json") == name
        gguf = convert_plain(base, tmp_path / f"{name}.gguf")
        assert field(gguf, "tokenizer.ggml.pre") == name
        tokenizer = AutoTokenizer.from_pretrained(base)
        assert tokens_of(gguf, texts) == tokenizer(texts, add_special_tokens=False).input_ids, name


def test_1_a_split_without_an_equal_is_refused_by_name(tmp_path: Path) -> None:
    from tokenizers import Regex, Tokenizer, pre_tokenizers

    base = export_fixture.make_base("llama", tmp_path / "base")
    core = Tokenizer.from_file(str(base / "tokenizer.json"))
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex("[aeiou]"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.save(str(base / "tokenizer.json"))
    with pytest.raises(Failure) as failure:
        convert_plain(base, tmp_path / "out.gguf")
    assert failure.value.code == "bad_tokenizer"
    assert not (tmp_path / "out.gguf").exists()


def test_2_control_tokens_stay_control_tokens(tmp_path: Path) -> None:
    base = export_fixture.make_base("gemma2", tmp_path / "base", "chatml")
    assert "added_tokens_decoder" not in json.loads((base / "tokenizer_config.json").read_text())
    gguf = convert_plain(base, tmp_path / "out.gguf")
    kinds = dict(
        zip(field(gguf, "tokenizer.ggml.tokens"), field(gguf, "tokenizer.ggml.token_type"), strict=True)
    )
    assert {kinds[token] for token in ("<|im_start|>", "<|im_end|>", "<s>", "</s>")} == {3}
    assert len(tokens_of(gguf, ["<|im_start|>user"])[0]) < 6


def test_3_gpt2_without_n_ctx(tmp_path: Path) -> None:
    base = export_fixture.make_base("gpt2", tmp_path / "base")
    assert "n_ctx" not in json.loads((base / "config.json").read_text())
    assert field(convert_plain(base, tmp_path / "out.gguf"), "gpt2.context_length") == 256


def test_4_a_name_with_phi3_in_it_loads(tmp_path: Path) -> None:
    base = export_fixture.make_base("llama", tmp_path / "base")
    for name in ("my-Phi3-clone", "phi-3 thing"):
        gguf = convert_plain(base, tmp_path / f"{name}.gguf", name)
        said = field(gguf, "general.name").lower()
        assert "phi3" not in said and "phi-3" not in said and "phi" in said
        assert len(tokens_of(gguf, ["Hello"])[0]) > 0


def test_4_a_tokenizer_like_phi3_s_gets_its_name(tmp_path: Path) -> None:
    added = [{"id": i, "content": token} for i, token in enumerate(("<unk>", "<s>", "</s>", "<|endoftext|>"))]
    (tmp_path / "tokenizer.json").write_text(json.dumps({"added_tokens": added}))
    (plain,) = options.candidates(tmp_path)
    assert converter_input.display_name("plain", plain.rstrip) == "plain"
    assert converter_input.display_name("Phi-3 clone", plain.rstrip) == "Phi 3 clone"
    added[2]["rstrip"] = True
    (tmp_path / "tokenizer.json").write_text(json.dumps({"added_tokens": added}))
    likelier, other = options.candidates(tmp_path)
    assert "phi-3" in converter_input.display_name("plain", likelier.rstrip)
    assert converter_input.display_name("Phi-3 clone", likelier.rstrip) == "Phi-3 clone"
    assert not other.rstrip


@pytest.mark.parametrize("kind", export_fixture.SENTENCEPIECE_KINDS)
def test_5_a_missing_tokenizer_model_is_rebuilt(tmp_path: Path, kind: str) -> None:
    whole = export_fixture.make_base(kind, tmp_path / "whole")
    saved = tmp_path / "saved"
    shutil.copytree(whole, saved)
    (saved / "tokenizer.model").unlink()
    texts = ["Hello, My parcel has not come.", "  Ünïcödé 🚀  order 482?\n\nteam: billing", "a<|im_end|> b"]
    with_file = convert_plain(whole, tmp_path / "with.gguf")
    without = convert_plain(saved, tmp_path / "without.gguf")
    from transformers import AutoTokenizer

    expected = AutoTokenizer.from_pretrained(saved)(texts, add_special_tokens=False).input_ids
    assert tokens_of(without, texts) == expected == tokens_of(with_file, texts)


# Adapters and weights.


def change(folder: Path, **fields: Any) -> None:
    path = folder / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def test_what_cannot_be_merged_exactly_is_refused(tmp_path: Path) -> None:
    base = export_fixture.make_base("qwen3", tmp_path / "base")
    tensors = weights.index_checkpoint(base)
    folder = tmp_path / "adapter"
    export_fixture.make_adapter(base, folder)
    assert len(adapter.load(folder, tensors, tied=True).updates) == 14
    for fields in ({"lora_bias": True}, {"peft_type": "IA3"}):
        change(folder, **fields)
        with pytest.raises(Failure) as failure:
            adapter.load(folder, tensors, tied=True)
        assert failure.value.code == "unsupported"
        change(folder, lora_bias=False, peft_type="LORA")
    change(folder, use_dora=True)
    with pytest.raises(Failure, match="no magnitude"):
        adapter.load(folder, tensors, tied=True)
    export_fixture.make_adapter(base, folder, target_modules=["q_proj", "embed_tokens"])
    with pytest.raises(Failure, match="embed"):
        adapter.load(folder, tensors, tied=True)
    export_fixture.make_adapter(base, folder, modules_to_save=["lm_head"])
    with pytest.raises(Failure, match="share"):
        adapter.load(folder, {**tensors, "lm_head.weight": tensors["model.embed_tokens.weight"]}, tied=True)
    other = export_fixture.make_base("gpt2", tmp_path / "other")
    export_fixture.make_adapter(other, folder)
    with pytest.raises(Failure, match="not stored as it is"):
        adapter.load(folder, tensors, tied=True)


def test_names_with_and_without_wrappers_are_one() -> None:
    assert canonical("transformer.h.0.attn.c_attn.weight") == "h.0.attn.c_attn.weight"
    assert canonical("model.language_model.layers.1.x.weight") == "layers.1.x.weight"
    assert canonical("model") == "model"


@pytest.mark.parametrize("options", [{}, {"use_rslora": True}, {"use_dora": True}], ids=str)
@pytest.mark.parametrize("kind", ["llama", "gpt2", "phi3"])
def test_a_merge_equals_that_of_peft(tmp_path: Path, kind: str, options: dict[str, Any]) -> None:
    import torch

    base = export_fixture.make_base(kind, tmp_path / kind)
    folder = tmp_path / "adapter"
    merged = export_fixture.make_adapter(base, folder, **options).merge_and_unload().state_dict()
    tensors = weights.index_checkpoint(base)
    updates = adapter.load(folder, tensors, tied=kind == "gpt2").updates
    again = independent.low_rank_updates(folder, tensors)
    assert len(updates) >= 8 and updates.keys() == again.keys()
    for name, update in updates.items():
        assert torch.equal(update.apply(tensors[name].read()), merged[name]), name
        apart = again[name].apply(tensors[name].read())
        share, absolute = again[name].rounding()
        assert ((apart - merged[name]).abs() <= share * apart.abs() + absolute).all(), name
        assert absolute < 1e-5 and share < 1e-5


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    base = export_fixture.make_base("llama", tmp_path / "base")
    file = base / "model.safetensors"
    whole = file.read_bytes()
    for damaged in (b"", whole[:7], whole[:400], whole[:-1], b"\xff" * 64, b"\x02" + bytes(7) + b"{]"):
        file.write_bytes(damaged)
        with pytest.raises(Failure) as failure:
            weights.index_checkpoint(base)
        assert failure.value.code == "bad_model"
    file.unlink()
    (base / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(Failure, match=r"no model\.safetensors"):
        weights.index_checkpoint(base)


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_writing_piece_by_piece_changes_no_byte(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = export_fixture.make_base(kind, tmp_path / "base")
    whole = convert_plain(base, tmp_path / "whole.gguf", quantization="Q8_0").read_bytes()
    monkeypatch.setattr(convert, "LARGE_BYTES", 0)
    monkeypatch.setattr(convert, "CHUNK_BYTES", 1000)
    pieces = convert_plain(base, tmp_path / "pieces.gguf", quantization="Q8_0").read_bytes()
    assert pieces == whole


# Architectures.


def test_the_verdict_names_the_architecture_and_the_reason() -> None:
    known = architectures.supported(CONVERTER)
    assert {"LlamaForCausalLM", "Qwen3ForCausalLM", "GPT2LMHeadModel", "Gemma3ForCausalLM"} <= set(known)
    assert not [name for name in known if "T5" in name or "Bert" in name or "Eagle" in name]
    cases = [
        ({"architectures": ["LlamaForCausalLM"]}, True, ""),
        (
            {"architectures": ["T5ForConditionalGeneration"], "is_encoder_decoder": True},
            False,
            "encoder-decoder",
        ),
        ({"architectures": ["BertForMaskedLM"]}, False, "does not generate"),
        ({"architectures": ["MadeUpForCausalLM"]}, False, "no converter for MadeUpForCausalLM"),
        (
            {
                "architectures": ["LlavaForConditionalGeneration"],
                "model_type": "llava",
                "text_config": {"model_type": "llama"},
            },
            True,
            "",
        ),
        (
            {
                "architectures": ["LlavaForConditionalGeneration"],
                "model_type": "llava",
                "text_config": {"model_type": "llama", "architectures": ["MadeUpForCausalLM"]},
            },
            False,
            "no converter for MadeUpForCausalLM",
        ),
        (
            {"architectures": ["BlipForConditionalGeneration"], "model_type": "blip"},
            False,
            "no text part",
        ),
        ({"architectures": []}, False, "names no architecture"),
        (
            {"architectures": ["LlamaForCausalLM"], "quantization_config": {"quant_method": "hqq"}},
            False,
            "hqq",
        ),
        (
            {"architectures": ["LlamaForCausalLM"], "quantization_config": {"quant_method": "gptq"}},
            True,
            "",
        ),
    ]
    for config, possible, reason in cases:
        answer, said = architectures.verdict(config, CONVERTER)
        assert answer == possible and reason in said, (config, said)


def test_the_verdict_needs_no_torch() -> None:
    program = (
        "import sys; from trainer.model.architectures import supported;"
        f"assert len(supported({str(CONVERTER)!r})) > 100; assert 'torch' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=export_fixture.ROOT).returncode == 0


# Judgement.


def judged(said: list[float | None], limit: float = 0.5, texts: list[list[int]] | None = None) -> Any:
    """The figures of a file that says `said` of three tokens, the last of which follows."""
    known = Reference(
        [[1, 2]], [[0]], [[[0, 1, 2]]], [[[-0.4, -1.2, -3.4]]], [[[-1.1, -1.1, -1.1]]], True, "float32", False
    )
    top = max(range(3), key=lambda token: said[token] or -99)
    answer = {"sequences": [{"tops": [top], "logprobs": [said]}], "texts": texts or [[5]]}
    return compare(known, answer, ["Hello"], [[5]], limit)


def test_what_a_type_costs_is_a_figure_and_no_judgement() -> None:
    same = judged([-0.4, -1.2, -3.4])
    assert same.passed and same.exact and same.agreement == 1 and same.max_logprob_difference == 0
    assert same.difference_from_base == pytest.approx(2.3)
    assert same.loss == same.reference_loss == 3.4 and same.loss_increase == 0
    off = judged([-0.8, -0.7, -3.57])
    assert off.passed and off.agreement == 0 and off.max_logprob_difference == pytest.approx(0.5)
    assert off.loss_increase == pytest.approx(0.05) and 0 < off.mean_kl < 0.2


def test_only_what_is_wrong_is_an_error() -> None:
    dead = judged([-4.0, -4.0, -0.04])
    assert dead.dead and not dead.passed and "nothing to do with" in dead.reason
    assert not judged([-4.0, -4.0, -0.04], 8.0).dead
    # NaN and infinity come over JSON as null
    assert judged([None, -1.2, -3.4], 8.0).dead and "not finite" in judged([-0.4, None, -3.4]).reason
    other = judged([-0.4, -1.2, -3.4], texts=[[6]])
    assert not other.passed and not other.dead and other.tokens_equal == 0
    assert other.tokens_differ == Difference("Hello", 0, [5], [6])
    assert "1 of 1 texts" in other.reason


def test_of_a_long_text_the_tokens_around_the_first_difference_are_shown() -> None:
    long, trained = "a" * 5000, [1] * 1000
    said = [*trained[:900], 2, *trained[901:]]
    answer = {"sequences": [], "texts": [said, [1, 1], trained]}
    found = compare(EMPTY, answer, [long, "the longer of both", "b" * 9000], [trained, [1, 1], said], 0.5)
    shown = found.tokens_differ
    assert found.tokens_equal == pytest.approx(1 / 3)
    assert shown.text == "a" * SHOWN_CHARACTERS + "…"
    assert shown.from_token == 892 and len(shown.trained) == len(shown.gguf) == SHOWN_TOKENS
    assert [shown.trained[8], shown.gguf[8]] == [1, 2]
