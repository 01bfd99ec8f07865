"""Templates, `string_check` and `text_similarity`, with the examples of OpenAI's guide."""

from __future__ import annotations

import pytest

from trainer.grading.grade import grade, grade_all
from trainer.grading.score import Sample


def check(operation: str, text: str, reference: str) -> float:
    grader = {"type": "string_check", "operation": operation, "input": text, "reference": reference}
    return grade(grader, {}, Sample("")).value


def alike(metric: str, text: str, reference: str) -> float:
    grader = {
        "type": "text_similarity",
        "evaluation_metric": metric,
        "input": "{{sample.output_text}}",
        "reference": "{{ item.reference_answer }}",
    }
    score = grade(grader, {"reference_answer": reference}, Sample(text))
    assert score.error is None
    return score.value


@pytest.mark.parametrize(
    ("operation", "text", "reference", "score"),
    [
        ("eq", "Paris", "Paris", 1),
        ("eq", "paris", "Paris", 0),
        ("ne", "paris", "Paris", 1),
        ("ne", "Paris", "Paris", 0),
        ("like", "It is Paris.", "Paris", 1),
        ("like", "It is paris.", "Paris", 0),
        ("like", "Paris", "It is Paris.", 0),
        ("ilike", "It is PARIS.", "paris", 1),
        ("ilike", "It is Rome.", "paris", 0),
    ],
)
def test_string_checks(operation, text, reference, score):
    assert check(operation, text, reference) == score


METRICS = ["fuzzy_match", "bleu", "gleu", "meteor", "cosine", "rouge_1", "rouge_2", "rouge_3", "rouge_l"]


@pytest.mark.parametrize("metric", [*METRICS, "rouge_4", "rouge_5"])
def test_equal_texts_score_one_and_others_zero(metric):
    text = "fuzzy wuzzy was a bear"
    # METEOR counts the one chunk of which an equal text consists.
    assert alike(metric, text, text) == pytest.approx(1, abs=0.005)
    assert alike(metric, "", text) == 0
    assert alike(metric, "", "") == 1
    assert 0 <= alike(metric, "12 34", "zzz") <= 0.1


@pytest.mark.parametrize("metric", METRICS)
def test_closer_texts_score_higher(metric):
    reference = "the quick brown fox jumps over the lazy dog"
    close = alike(metric, "the quick brown fox jumped over the lazy dog", reference)
    far = alike(metric, "a quick fox and one more dog", reference)
    assert 0 <= far < close < 1


def test_a_fuzzy_match_is_the_ratio_of_rapidfuzz():
    assert alike("fuzzy_match", "fuzzy wuzzy was a bear", "fuzzy wuzzy had no hair") == pytest.approx(
        0.7556, abs=1e-4
    )


@pytest.mark.parametrize("text", ["the cat sat on the mat today", "on the mat sat a cat", "dogs bark"])
def test_rouge_is_that_of_torchmetrics(text):
    from torchmetrics.functional.text.rouge import rouge_score

    reference = "the cat sat on the mat"
    keys = ("rouge1", "rouge2", "rouge3", "rouge4", "rouge5", "rougeL")
    theirs = rouge_score(text, reference, rouge_keys=keys)
    for key in keys:
        ours = alike("rouge_" + key.removeprefix("rouge").lower(), text, reference)
        assert ours == pytest.approx(theirs[f"{key}_fmeasure"].item(), abs=1e-6)


CALLS = [{"type": "function", "function": {"name": "get_acceptors", "arguments": '{"smiles": "CCO"}'}}]


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("plain", "plain"),
        ("{{item.n}}/{{ item.deep.list[1] }}/{{item.deep['a b']}}", "3/y/ü"),
        ("{{item.deep.list[-1]}} {{item.flag}} {{item.deep.list}}", 'y true ["x", "y"]'),
        ("{{sample.output_tools[0].function.arguments}}", '{"smiles": "CCO"}'),
        ("{{sample.output_json.email}}", "a@b.c"),
        ("{{sample.choices[0].message.content}}", '{"email": "a@b.c"}'),
    ],
)
def test_templates(template, filled):
    item = {"n": 3, "flag": True, "deep": {"list": ["x", "y"], "a b": "ü"}}
    grader = {"type": "string_check", "operation": "eq", "input": template, "reference": filled}
    score = grade(grader, item, Sample('{"email": "a@b.c"}', CALLS))
    assert (score.value, score.error) == (1, None), score.explanation


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{item.answer}}", "The row has no item.answer. Its columns are question, output."),
        ("{{item.output.deep}}", "The row has no item.output.deep"),
        ("{{sample.output}}", "There is no sample.output: a sample has output_text"),
        ("{{other.output}}", "{{other.output}} is no variable"),
        ("{{item}}", "{{item}} is no variable"),
        ("{{}}", "{{}} is no variable"),
    ],
)
def test_what_a_template_names_wrongly_is_an_error(template, said):
    grader = {"type": "string_check", "operation": "ne", "input": template, "reference": "x"}
    score = grade(grader, {"question": "?", "output": "42"}, Sample("42"))
    assert score.value == 0
    assert said in (score.error or "")


@pytest.mark.parametrize(
    "template", ["{{sample.output_json.name}}", "{{sample.output_tools[0].function.name}}"]
)
@pytest.mark.parametrize("answer", ["no JSON", '{"other": 1}', "[]", "7", "[" * 100_000])
def test_an_answer_that_lacks_what_is_looked_at_scores_zero_without_an_error(template, answer):
    grader = {"type": "string_check", "operation": "ne", "input": template, "reference": "x"}
    score = grade(grader, {}, Sample(answer))
    assert (score.value, score.error) == (0, None)
    assert "the answer" in score.explanation


def test_a_batch_has_the_scores_of_each_row_by_name():
    graders = {
        "same": {
            "type": "string_check",
            "operation": "eq",
            "input": "{{sample.output_text}}",
            "reference": "{{item.a}}",
        },
        "near": {
            "type": "text_similarity",
            "evaluation_metric": "fuzzy_match",
            "input": "{{sample.output_text}}",
            "reference": "{{item.a}}",
            "pass_threshold": 0.5,
        },
    }
    scores = grade_all(graders, [({"a": "yes"}, Sample("yes")), ({"a": "no"}, Sample("yes"))])
    assert [{name: score.value for name, score in row.items()} for row in scores] == [
        {"same": 1, "near": 1},
        {"same": 0, "near": 0},
    ]
    assert scores[1]["same"].explanation == "'yes' differs from 'no'"
    assert scores[1]["near"].explanation.endswith("does not pass 0.5")
