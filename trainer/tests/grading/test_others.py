"""`multi` graders with their formulas, and the graders that OpenAI has not."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from trainer.grading.grade import check, grade
from trainer.grading.score import Sample, Score

ANSWER = "{{sample.output_text}}"


def scored(answer: str, item: dict[str, Any] | None = None, **grader: Any) -> Score:
    return grade({"input": ANSWER, **grader}, item or {}, Sample(answer))


CONTACT = {
    "type": "multi",
    "graders": {
        "name": {
            "name": "name_grader",
            "type": "text_similarity",
            "input": "{{sample.output_json.name}}",
            "reference": "{{item.name}}",
            "evaluation_metric": "fuzzy_match",
            "pass_threshold": 0.9,
        },
        "email": {
            "name": "email_grader",
            "type": "string_check",
            "input": "{{sample.output_json.email}}",
            "reference": "{{item.email}}",
            "operation": "eq",
        },
    },
    "calculate_output": "(name + email) / 2",
}
JOHN = {"name": "John Doe", "email": "john.doe@gmail.com"}


@pytest.mark.parametrize(
    ("answer", "least", "most"),
    [
        ('{"name": "John Doe", "email": "john.doe@gmail.com"}', 1, 1),
        ('{"name": "Jon Doe", "email": "john.doe@gmail.com"}', 0.9, 0.99),
        ('{"name": "John Doe", "email": "john@gmail.com"}', 0.5, 0.5),
        ('{"name": "John Doe"}', 0.5, 0.5),
        ("John Doe, john.doe@gmail.com", 0, 0),
    ],
)
def test_the_multi_grader_of_the_guide(answer, least, most):
    score = grade(CONTACT, JOHN, Sample(answer))
    assert least <= score.value <= most
    assert score.error is None
    assert list(score.parts) == ["name", "email"]
    assert "email" in score.explanation


def test_the_grader_of_calls_of_the_guide():
    def part(name, text):
        return {
            "type": "string_check",
            "operation": "eq",
            "input": text,
            "reference": f"{{{{sample.output_tools[0].function.{name}}}}}",
        }

    grader = {
        "type": "multi",
        "graders": {
            "function_name": part("name", "get_acceptors"),
            "arguments": part("arguments", '{"smiles": "{{item.smiles}}"}'),
        },
        "calculate_output": "0.5 * function_name + 0.5 * arguments",
    }

    def call(name, smiles):
        return [{"type": "function", "function": {"name": name, "arguments": f'{{"smiles": "{smiles}"}}'}}]

    def value(calls):
        return grade(grader, {"smiles": "CCO"}, Sample("", calls)).value

    assert value(call("get_acceptors", "CCO")) == 1
    assert value(call("get_acceptors", "CCN")) == 0.5
    assert value(call("other", "CCN")) == 0
    assert value([]) == 0


def multi(formula: str, **parts: str) -> dict[str, Any]:
    """Graders that find each of these texts in the answer."""
    graders = {
        name: {"type": "string_check", "operation": "like", "input": ANSWER, "reference": text}
        for name, text in parts.items()
    }
    return {"type": "multi", "graders": graders, "calculate_output": formula}


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("a + 2 * b - 1", 0),
        ("-a ^ 2", -1),
        ("2 ^ 3 ^ 2", 512),
        ("min(a, b, 0.5) + max(a, b)", 1),
        ("min(a)", 1),
        ("abs(b - a) / 4", 0.25),
        ("floor(1.7) + ceil(0.2)", 2),
        ("exp(b) + log(a) + sqrt(4)", 3),
        ("1e-3", 0.001),
    ],
)
def test_formulas(formula, value):
    grader = multi(formula, a="yes", b="no")
    assert check(grader) is None
    score = grade(grader, {}, Sample("yes"))
    assert (score.value, score.error) == (pytest.approx(value), None)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("a / b", "has no value with a = 1, b = 0"),
        ("log(b)", "has no value"),
        ("sqrt(b - a)", "has no value"),
        ("exp(10 ^ a * 1000)", "has no value"),
        ("9 ^ 9 ^ 9 ^ 9", "has no value"),
        ("(b - a) ^ 0.5", "has no value"),
    ],
)
def test_a_formula_without_a_value_is_an_error_of_the_row(formula, said):
    score = grade(multi(formula, a="yes", b="no"), {}, Sample("yes"))
    assert score.value == 0
    assert said in (score.error or "")
    assert score.parts == {"a": 1, "b": 0}
    assert grade(multi("1 / a", a="yes"), {}, Sample("yes")).error is None


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("a +", "cannot be read"),
        ("a + c", "names c, which is no grader of it: they are a, b"),
        ("__import__('os')", "is not allowed in a formula"),
        ("a.real", "is not allowed"),
        ("a if b else 1", "is not allowed"),
        ("'x' * 9", "is not allowed"),
        ("True", "is not allowed"),
        ("abs(a, b)", "does not take 2 values"),
        ("min()", "does not take 0 values"),
        ("min(*a)", "is not allowed"),
        ("a // b", "is not allowed"),
        ("(" * 5000 + "a" + ")" * 5000, "cannot be read"),
        ("+".join(["a"] * 1500), "has too many parts"),
        ("-" * 1500 + "a", "has too many parts"),
        ("a\x00", "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_what_is_no_formula_is_told_of_the_definition(formula, said):
    grader = multi(formula, a="yes", b="no")
    assert said in (check(grader) or "")
    assert said in (grade(grader, {}, Sample("yes")).error or "")


def test_an_error_of_a_part_is_the_error_of_the_whole():
    grader = multi("a", a="{{item.gone}}")
    assert (grade(grader, {}, Sample("yes")).error or "").startswith("a: The row has no item.gone.")


SCHEMA = {
    "type": "object",
    "properties": {"total": {"type": "number"}, "items": {"type": "array", "items": {"type": "string"}}},
    "required": ["total"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("answer", "value", "said"),
    [
        ('{"total": 3.5, "items": ["a"]}', 1, "fits"),
        ('{"total": "3.5"}', 0, "$.total: '3.5' is not of type 'number'"),
        ('{"items": [1]}', 0, ""),
        ("{total: 3}", 0, "no JSON"),
        ("", 0, "no JSON"),
    ],
)
def test_json_that_fits_a_schema(answer, value, said):
    score = scored(answer, type="hone_json_schema", schema=SCHEMA)
    assert (score.value, score.error) == (value, None)
    assert said in score.explanation


def test_what_is_no_schema_is_told_of_the_definition():
    assert "is no JSON schema" in (check({"type": "hone_json_schema", "schema": {"type": "nothing"}}) or "")
    elsewhere = {"$ref": "http://127.0.0.1:9/schema"}
    assert scored("1", type="hone_json_schema", schema=elsewhere).error is not None


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ('{"a": 1, "b": {"c": ["x", "y"]}}', 1),
        ('{"b": {"c": ["x", "y"]}, "a": 1.0}', 1),
        ('{"a": 2, "b": {"c": ["x", "y"]}}', 2 / 3),
        ('{"a": true, "b": {"c": ["x", "y"]}}', 2 / 3),
        ('{"a": 1}', 1 / 3),
        ('{"a": 1, "b": {"c": ["x", "y"]}, "d": null}', 3 / 4),
        ("[]", 0),
        ("none", 0),
    ],
)
def test_json_is_compared_field_by_field(answer, value):
    item = {"wanted": {"a": 1, "b": {"c": ["x", "y"]}}}
    score = scored(answer, item, type="hone_json_equal", reference="{{item.wanted}}")
    assert (score.value, score.error) == (pytest.approx(value), None)


def test_a_reference_that_is_no_json_is_an_error():
    assert "is no JSON" in (
        scored("{}", {"w": "{"}, type="hone_json_equal", reference="{{item.w}}").error or ""
    )


@pytest.mark.parametrize(
    ("answer", "reference", "tolerance", "relative", "value"),
    [
        ("The total is 3.1.", "3.0", 0.1, 0, 1),
        ("3.11", "3.0", 0.1, 0, 0),
        ("1,234,567.5", "1234567.5", 0, 0, 1),
        ("2 + 2 = 4", "4", 0, 0, 1),
        ("10-5", "5", 0, 0, 1),
        ("x = −5", "-5", 0, 0, 1),
        ("1.5e3", "1500", 0, 0, 1),
        ("98", "100", 0, 0.02, 1),
        ("97", "100", 0, 0.02, 0),
        ("no idea", "100", 0, 0, 0),
        ("9" * 400, "1", 0, 0, 0),
    ],
)
def test_numbers_within_a_tolerance(answer, reference, tolerance, relative, value):
    score = scored(
        answer,
        {"n": reference},
        type="hone_number",
        reference="{{item.n}}",
        tolerance=tolerance,
        relative_tolerance=relative,
    )
    assert (score.value, score.error) == (value, None)


def test_a_reference_without_a_number_is_an_error():
    score = scored("1", type="hone_number", reference="none", tolerance=0, relative_tolerance=0)
    assert score.error == "The reference 'none' has no number."


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        (r"So it is $\frac{1}{2}$.", "0.5", 1),
        (r"\boxed{x^2 + 2x + 1}", "$(x+1)^2$", 1),
        (r"The answer is $\{2, 1\}$", r"\{1, 2\}", 1),
        ("The answer is 7.", "8", 0),
        ("I do not know.", "8", 0),
    ],
)
def test_mathematical_equality(answer, reference, value):
    score = scored(answer, {"r": reference}, type="hone_math", reference="{{item.r}}")
    assert (score.value, score.error) == (value, None), score.explanation


def test_mathematical_equality_in_another_thread():
    found = []
    thread = threading.Thread(
        target=lambda: found.append(scored("$x$", type="hone_math", reference="x").value)
    )
    thread.start()
    thread.join()
    assert found == [1]


def test_regular_expressions():
    date = r"^\d{4}-\d\d-\d\d$"
    assert scored("2026-11-28", type="hone_regex", pattern=date).value == 1
    assert scored("28.11.2026", type="hone_regex", pattern=date).value == 0
    assert "is no regular expression" in (check({"type": "hone_regex", "pattern": "(a"}) or "")


def test_a_pattern_that_takes_forever_ends_as_an_error():
    score = scored(",".join("1" * 60), type="hone_regex", pattern=r"^(.*?,){20}P")
    assert "took more than" in (score.error or "")


@pytest.mark.parametrize(
    ("unit", "least", "most", "value"),
    [("words", 2, 4, 1), ("words", 4, None, 0), ("characters", None, 13, 1), ("characters", None, 12, 0)],
)
def test_length(unit, least, most, value):
    grader = (
        {"unit": unit} | ({} if least is None else {"min": least}) | ({} if most is None else {"max": most})
    )
    assert scored("one two three", type="hone_length", **grader).value == value


def test_contains_is_the_share_of_values():
    item = {"city": "Paris"}
    grader = {"type": "hone_contains", "values": ["{{item.city}}", "France"]}
    assert scored("Paris, France", item, ignore_case=False, **grader).value == 1
    assert scored("PARIS, France", item, ignore_case=False, **grader).value == 0.5
    assert scored("PARIS, france", item, ignore_case=True, **grader).value == 1
    assert scored("Rome", item, ignore_case=True, **grader).explanation == (
        "0 of 2 found; missing: 'Paris', 'France'"
    )


@pytest.mark.parametrize(
    ("grader", "kinds"),
    [
        (
            {"type": "string_check", "operation": "eq", "reference": "{{item.absent}}"},
            ["invalid_variable_error"],
        ),
        (
            {"type": "string_check", "operation": "eq", "reference": "{{sample.output_json.a}}"},
            ["sample_parse_error"],
        ),
        (
            {"type": "hone_number", "reference": "none", "tolerance": 0, "relative_tolerance": 0},
            ["other_error"],
        ),
        (
            {
                "type": "multi",
                "graders": {"a": {"type": "string_check", "operation": "eq", "input": "", "reference": "x"}},
                "calculate_output": "1 / a",
            },
            ["formula_parse_error"],
        ),
    ],
)
def test_a_score_tells_the_kinds_of_what_went_wrong(grader, kinds):
    assert scored("4", **grader).kinds == kinds
