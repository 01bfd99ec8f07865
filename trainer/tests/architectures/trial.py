"""Trains, exports and asks a toy as a user would, and holds the result against plain transformers and PEFT.

Every comparison is with a model that transformers loads and PEFT adapts by themselves, in float32, one row at
a time.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from trainer.model import text_part
from trainer.tests import export_fixture, jobs, tiny
from trainer.tests.architectures import toys, whole_models

STEPS = 3
ROWS = 8
HELD_OUT = 4
# All toys, of language models and of whole models whose text part is trained.
KNOWN = (*sorted(toys.TOYS), *sorted(whole_models.TOYS))
# Natural logarithms, of losses and of log-probabilities; llama.cpp keeps keys and values in 16 bits.
SAME_LOSS = 5e-4
SAME_ANSWER = 0.03
# Parameters of all experts of a layer in one tensor.
EXPERTS = re.compile(r"(^|\.)experts(\.|$)")
# The most likely next tokens whose log-probabilities are compared.
COMPARED = 20


def trial(name: str, folder: Path, **settings: Any) -> dict[str, Any]:
    """One toy from its making to an answer of its GGUF. `outcome` is the run's; `trains` and `gguf` say what
    came out, `why` what did not and `cause` what is known of that; `loss`, `held_out`, `tokens` and `answer`
    are the largest differences from plain transformers and PEFT (None: not compared). `settings` are more of
    the training request."""
    shutil.rmtree(folder, ignore_errors=True)
    whole = whole_models.TOYS.get(name)
    architecture = whole[1] if whole else toys.TOYS[name]["architecture"]
    base = (whole_models if whole else toys).build(name, folder / "base")
    cause = toys.TOYS.get(name, {}).get("cause")
    row: dict[str, Any] = {"architecture": architecture, "outcome": "failed", "cause": cause}
    text = [{"input": question, "output": answer} for question, answer in tiny.sentences(ROWS + HELD_OUT)]
    spec = jobs.make(
        folder / "job",
        base,
        text[:ROWS],
        {"export": {"quantizations": ["F16"], "required": False}, "tools": export_fixture.TOOLS},
        text[ROWS:],
        per_device_train_batch_size=ROWS,
        num_train_epochs=STEPS,
        lr_scheduler_type="constant",
        warmup_ratio=0.0,
        weight_decay=0.0,
        max_grad_norm=0.0,
        lora_dropout=0.0,
        **settings,
    )
    jobs.forked(spec)
    lines = jobs.journal(spec)
    row.update(_told(lines))
    adapter = spec.parent / "artifacts" / "adapter"
    if not adapter.is_dir():
        return row
    row.update(trains=True, adapts=_adapted(adapter))
    plain = _readable(base, folder / "plain", toys.TOYS.get(name, {}).get("read", {}))
    found = _plain(plain, adapter, spec.parent / "artifacts" / "template.json", text)
    losses = jobs.losses(spec)
    row["loss"] = max(abs(losses[step] - found["losses"][step - 1]) for step in losses)
    held_out = [line["metrics"]["eval_loss"] for line in lines if line["type"] == "eval"]
    row["held_out"] = max(abs(held_out[0] - found["before"]), abs(held_out[-1] - found["after"]))
    gguf = next((line for line in lines if line["type"] == "artifact" and line["kind"] == "gguf"), None)
    if gguf is not None:
        row.update(gguf=True, **_asked(spec.parent / gguf["path"], found))
    return row


def _told(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """What the journal says of the run: outcome, reason, and how rows are laid out."""
    row: dict[str, Any] = {"padded": None, "why": None}
    for line in lines:
        if line["type"] == "phase" and line["phase"] == "load" and "rows" in (line["detail"] or ""):
            row["padded"] = not line["detail"].startswith("rows without padding")
        elif line["type"] == "failed":
            row["why"] = f"{line['code']}: {line['message']}"
        elif line["type"] == "done":
            row["outcome"] = line["outcome"]
            row["why"] = (line.get("export") or {}).get("reason") or row["why"]
        elif line["type"] == "warning" and line["code"] == "no_gguf":
            row["why"] = line["message"]
    return row


def _adapted(adapter: Path) -> str:
    """The kinds of modules that have an update, by the last part of their names."""
    from safetensors import safe_open

    with safe_open(adapter / "adapter_model.safetensors", "pt") as file:
        names = {key.partition(".lora_")[0] for key in file.keys()}  # noqa: SIM118
    return " ".join(
        sorted({"experts" if EXPERTS.search(name) else name.rsplit(".", 1)[-1] for name in names})
    )


def _readable(base: Path, folder: Path, fields: dict[str, Any]) -> Path:
    """`base`, or a copy in `folder` whose config.json has `fields`, which transformers does not find in that
    of the published models."""
    if not fields:
        return base
    shutil.copytree(base, folder)
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **fields}), "utf-8")
    return folder


def _plain(base: Path, adapter: Path, template: Path, text: list[dict[str, str]]) -> dict[str, Any]:
    """The losses of the same steps by transformers and PEFT, the loss on held-out rows before and after with
    the saved adapter, and the log-probabilities after held-out prompts with that adapter."""
    import peft
    import torch
    from transformers import set_seed

    from trainer.data.encode import encode_conversations
    from trainer.data.template import load
    from trainer.model.tokenizer import load_with_class

    tokenizer = load_with_class(base)
    conversations = [
        [{"role": "user", "content": row["input"]}, {"role": "assistant", "content": row["output"]}]
        for row in text
    ]
    encoded = [rows[0] for rows in encode_conversations(tokenizer, load(template), conversations)]
    config = peft.PeftConfig.from_pretrained(adapter)
    config.inference_mode = False
    load = text_part.loader(json.loads((base / "config.json").read_text("utf-8")), "AutoModelForCausalLM")
    model = load(base, dtype=torch.float32)
    before = _loss(model, encoded[ROWS:], training=False)
    set_seed(json.loads((template.parents[1] / "spec.json").read_text())["settings"]["seed"])
    model = peft.get_peft_model(model, config)
    model.train()
    rate = json.loads((template.parents[1] / "spec.json").read_text())["settings"]["learning_rate"]
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=rate, weight_decay=0.0)
    losses = []
    for _ in range(STEPS):
        loss = _loss(model, encoded[:ROWS], training=True)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    tuned = load(base, dtype=torch.float32)
    tuned = peft.PeftModel.from_pretrained(tuned, adapter)
    after = _loss(tuned, encoded[ROWS:], training=False)
    prompts = [row.input_ids[: row.prompt_tokens] for row in encoded[ROWS:]]
    with torch.no_grad():
        logits = [tuned(input_ids=torch.tensor([prompt])).logits[0, -1] for prompt in prompts]
    likely = [torch.log_softmax(row.double(), -1).topk(COMPARED) for row in logits]
    texts = [row["input"] for row in text]
    return {
        "losses": losses,
        "before": float(before),
        "after": float(after),
        "prompts": prompts,
        "ids": [row.indices.tolist() for row in likely],
        "logprobs": [row.values.tolist() for row in likely],
        "texts": texts,
        "text_ids": tokenizer(texts, add_special_tokens=False).input_ids,
    }


def _loss(model: Any, rows: list[Any], training: bool) -> Any:
    """The mean loss of the labelled tokens of `rows`, each computed alone: nothing is padded or masked."""
    import torch

    model.train(training)
    total, count = 0, 0
    with torch.set_grad_enabled(training):
        for row in rows:
            labels = torch.tensor(row.labels)[1:]
            logits = model(input_ids=torch.tensor([row.input_ids])).logits[0, :-1]
            total = total + torch.nn.functional.cross_entropy(logits.float(), labels, reduction="sum")
            count += int((labels != -100).sum())
    return total / count


def _asked(gguf: Path, found: dict[str, Any]) -> dict[str, Any]:
    """How far the engine's log-probabilities and tokens are from those of transformers."""
    from trainer.export import node_tools

    request = {
        "gguf": str(gguf),
        "sequences": [
            {"tokens": tokens, "positions": [len(tokens) - 1], "ids": [ids]}
            for tokens, ids in zip(found["prompts"], found["ids"], strict=True)
        ],
        "texts": found["texts"],
    }
    answer = node_tools.score(export_fixture.TOOLS["score"], request, lambda: None)
    worst = max(
        abs(ours - theirs)
        for row, scored in zip(found["logprobs"], answer["sequences"], strict=True)
        for ours, theirs in zip(row, scored["logprobs"][0], strict=True)
    )
    differing = sum(ours != theirs for ours, theirs in zip(found["text_ids"], answer["texts"], strict=True))
    return {"answer": worst, "tokens": differing}
