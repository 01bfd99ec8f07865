"""The journal and the specification against the golden files that both languages read."""

import json
import math
import os
from pathlib import Path

import pytest

from trainer.protocol.contracts import LINES, ContractError, check_line, read_spec
from trainer.protocol.heartbeat import Heartbeat
from trainer.protocol.journal import Journal

CONTRACT = Path(__file__).parents[3] / "test" / "contract"


def golden() -> list[dict]:
    """The golden lines, each with null for the nullable fields that it lacks."""
    lines = [json.loads(line) for line in (CONTRACT / "journal.golden.jsonl").read_text().splitlines()]
    return [line | {name: None for name in _nullable(line["type"]) if name not in line} for line in lines]


def _nullable(kind: str) -> list[str]:
    return [name for name, allowed in LINES[kind].items() if isinstance(allowed, str) and allowed[-1] == "?"]


def test_every_golden_line_is_known_and_every_type_is_in_it():
    seen = set()
    for seq, line in enumerate(golden()):
        assert line.pop("seq") == seq
        assert line.pop("time").endswith("Z")
        kind = line.pop("type")
        check_line(kind, line)
        seen.add(kind)
    assert seen == set(LINES)


def test_what_the_journal_writes_has_the_golden_fields(tmp_path):
    journal = Journal(tmp_path)
    for line in golden():
        journal.write(line["type"], **{k: v for k, v in line.items() if k not in ("seq", "time", "type")})
    written = journal.lines()
    assert [{**line, "time": ""} for line in written] == [{**line, "time": ""} for line in golden()]
    assert [list(line) for line in written] == [list(line) for line in golden()]


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("warning", {"code": "x"}),
        ("warning", {"code": "x", "message": "y", "more": 1}),
        ("warning", {"code": "x", "message": 1}),
        ("phase", {"phase": "dance", "progress": None, "detail": None}),
        ("eval", {"step": True, "epoch": 1, "metrics": {}}),
        ("gossip", {}),
    ],
)
def test_a_line_that_breaks_the_contract_is_not_written(tmp_path, kind, fields):
    journal = Journal(tmp_path)
    with pytest.raises(ContractError):
        journal.write(kind, **fields)
    assert journal.lines() == []


def test_nan_and_infinity_become_null_however_deep(tmp_path):
    journal = Journal(tmp_path)
    journal.write("eval", step=1, epoch=0.5, metrics={"a": math.nan, "b": {"c": [math.inf, -math.inf, 1.5]}})
    text = (tmp_path / "journal.jsonl").read_text()
    assert "NaN" not in text and "Infinity" not in text
    assert journal.lines()[0]["metrics"] == {"a": None, "b": {"c": [None, None, 1.5]}}


@pytest.mark.parametrize("torn", [b"", b'{"seq":2,"ti', b'{"seq":2,"time":"2026-11-21T12:00:00.000Z"}'])
def test_a_torn_last_line_is_cut_off_and_the_numbers_go_on(tmp_path, torn):
    first = Journal(tmp_path)
    first.write("warning", code="a", message="äöü 漢字")
    first.write("warning", code="b", message="two")
    first.close()
    with open(tmp_path / "journal.jsonl", "ab") as file:
        file.write(torn)
    second = Journal(tmp_path)
    second.write("warning", code="c", message="three")
    assert [(line["seq"], line["code"]) for line in second.lines()] == [(0, "a"), (1, "b"), (2, "c")]


def test_a_line_that_the_disk_has_no_room_for_is_taken_back(tmp_path, monkeypatch):
    journal = Journal(tmp_path)
    journal.write("warning", code="a", message="one")
    whole = os.write
    monkeypatch.setattr(os, "write", lambda file, data: whole(file, data[: len(data) // 2]))
    with pytest.raises(OSError, match="No space left"):
        journal.write("warning", code="b", message="two")
    monkeypatch.undo()
    journal.write("warning", code="c", message="three")
    assert [(line["seq"], line["code"]) for line in journal.lines()] == [(0, "a"), (1, "c")]


def test_a_journal_of_nothing_but_a_torn_line_starts_anew(tmp_path):
    (tmp_path / "journal.jsonl").write_bytes(b'{"seq":0')
    journal = Journal(tmp_path)
    journal.write("warning", code="a", message="one")
    assert [line["seq"] for line in journal.lines()] == [0]


def test_the_golden_specification_is_read():
    spec = read_spec(CONTRACT / "spec.golden.json")
    assert spec.settings.lora_alpha == 32.0 and isinstance(spec.settings.lora_alpha, float)
    assert spec.export.quantizations == ["Q8_0"]
    assert spec.tools.quantize[0] == "node"


def spec_value() -> dict:
    return json.loads((CONTRACT / "spec.golden.json").read_text())


def read(folder: Path, value: dict):
    (folder / "spec.json").write_text(json.dumps(value))
    return read_spec(folder / "spec.json")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda s: s.update(colour="red"), ["colour"]),
        (lambda s: s["settings"].update(learning_rat=1), ["learning_rat", "settings"]),
        (lambda s: s["model"].update(revision="x"), ["revision", "$.model"]),
        (lambda s: s["settings"].pop("seed"), ["seed", "$.settings"]),
        (lambda s: s["settings"].update(seed="42"), ["$.settings.seed"]),
        (lambda s: s["settings"].update(max_steps=1.5), ["$.settings.max_steps"]),
        (lambda s: s["settings"].update(packing=1), ["$.settings.packing"]),
        (lambda s: s["settings"].update(seed=True), ["$.settings.seed"]),
        (lambda s: s["settings"].update(target_modules=["q", 1]), ["$.settings.target_modules[1]"]),
        (lambda s: s.update(model="owner/name"), ["$.model"]),
    ],
)
def test_an_unknown_missing_or_mistyped_field_is_refused_by_name(tmp_path, change, named):
    value = spec_value()
    change(value)
    with pytest.raises(ContractError) as caught:
        read(tmp_path, value)
    assert all(word in str(caught.value) for word in named), str(caught.value)


def test_null_where_the_contract_allows_it(tmp_path):
    value = spec_value()
    value.update(export=None, tensorboard_dir=None)
    spec = read(tmp_path, value)
    assert spec.export is None and spec.tensorboard_dir is None


def test_the_heartbeat_moves_the_time_of_its_file(tmp_path):
    beat = Heartbeat(tmp_path)
    os.utime(tmp_path / "heartbeat", (1, 1))
    beat.beat()
    assert (tmp_path / "heartbeat").stat().st_mtime > 1


def test_a_specification_of_an_earlier_service_is_still_read(tmp_path):
    value = spec_value()
    del value["disk"], value["export"]["required"], value["validation"]
    spec = read(tmp_path, value)
    # Whether a GGUF was asked for was known to that service alone, which had refused what could not be made.
    assert spec.disk is None and spec.export.required and spec.validation is None
