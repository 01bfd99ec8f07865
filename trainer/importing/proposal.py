"""Proposes which columns become the fields of a row: by usual names, else by words in names and by values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

from trainer.importing.shapes import is_label
from trainer.importing.values import value_at
from trainer.protocol.contracts import ROW_SHAPES

Row = dict[str, Any]

# Usual names of the columns of each field, best first. A shape is proposed if all of its fields are found.
USUAL: dict[str, dict[str, tuple[str, ...]]] = {
    "messages": {
        "messages": ("messages", "conversation", "conversations", "dialog", "dialogue", "chat", "turns")
    },
    "preference": {
        "prompt": ("prompt", "question", "instruction", "input", "query"),
        "chosen": ("chosen", "preferred", "accepted", "chosen_response", "better", "win"),
        "rejected": ("rejected", "non_preferred", "dispreferred", "rejected_response", "worse", "lose"),
    },
    "unpaired-preference": {
        "prompt": ("prompt", "question", "instruction", "input", "query", "messages"),
        "completion": ("completion", "response", "answer", "output", "reply"),
        "label": ("label", "thumb", "thumbs", "feedback", "rating", "vote", "liked", "desirable", "good"),
    },
    "question-answer": {
        "context": ("context", "passage", "paragraph"),
        "question": ("question", "query"),
        # SQuAD's rows have the texts of all answers.
        "answer": ("answer", "answer_text", "answers.text.0"),
    },
    "input-output": {
        "input": (
            *("input", "prompt", "instruction", "question", "query", "source", "article", "document"),
            *("text", "sentence", "review", "message", "body", "dialogue", "src", "q", "user", "human"),
        ),
        "output": (
            *("output", "completion", "response", "answer", "target", "summary", "highlights", "label"),
            *("reply", "category", "intent", "translation", "tgt", "a", "assistant", "answers.text.0"),
        ),
    },
    "text": {"text": ("text", "content", "document", "body", "article", "raw_content")},
}


def _set(words: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", words))


# Words within longer names, also in German, French, Italian and Spanish. Those of ASKING name an input,
# those of ANSWERING an output; who writes is a weaker hint than what.
ASKING = _set(
    "question questions query queries ask asks asked asking prompt instruction instructions input request"
    " message inquiry enquiry ticket problem issue complaint utterance article document sentence review email"
    " frage anfrage anliegen nachricht eingabe demande entrée domanda richiesta pregunta consulta entrada"
)
ANSWERING = _set(
    "answer answers answered reply replies replied response responses respond responded output completion"
    " resolution solution target summary label class category intent sentiment translation expected ideal"
    " antwort ausgabe lösung zusammenfassung kategorie réponse sortie risposta soluzione respuesta salida"
    " solución"
)
ASKERS = _set("customer user human client source subject text body kunde cliente")
ANSWERERS = _set("agent assistant bot model support team title department gold correct result")
# What an input is about, which stands before it.
CONTEXT = _set("context passage paragraph background kontext contexte contesto contexto")
# What follows these is not what a column has: "answer to the question".
LINKS = _set("to of for from on about by with per zu auf von für à de sur a di su sobre para")
# Names of what is not learned.
OTHERS = _set(
    "id ids uuid guid key index idx row nr date day time timestamp created updated url link href path file"
    " email_address phone lang language locale split version author"
)
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{1,2}:\d{2}.*)?")
LINK = re.compile(r"(https?://|www\.)\S+|\S+@\S+\.\w+")
CODE = re.compile(r"(?=\S*\d)[\w#./:-]+")
NUMBER = re.compile(r"[-+]?[\d.,]+([eE][-+]?\d+)?%?")

# A name that tells a field counts more than all that values tell.
NAMED, HINTED = 10.0, 3.0
# A column of prose has this many words; more make it no likelier.
PROSE_WORDS, MANY_WORDS = 4, 20


class _Columns(TypedDict):
    target: str
    columns: dict[str, str]


class Mapped(_Columns, total=False):
    """The shape that columns become, and the column or the template of each of its fields."""

    templates: dict[str, str]
    system: str


class Proposed(NamedTuple):
    """A proposal; `is_guess` if a field has its column for what its values look like."""

    mapping: Mapped
    is_guess: bool


def propose(columns: Sequence[str], rows: Sequence[Row]) -> Proposed | None:
    """A mapping of columns to the fields of a row, or None. @param rows the first of them."""
    facts = [_facts(name, rows) for name in columns]
    found = _found(columns, rows, facts)
    if found is not None and found.mapping["target"] == "input-output":
        _add_others(found.mapping, facts)
    return found


def _add_others(mapping: Mapped, facts: Sequence[_Facts]) -> None:
    """Puts a context before the input, and takes a column of system prompts."""
    columns = mapping["columns"]
    texts = [one for one in facts if one.has_text and one.name not in columns.values()]
    context = next((one.name for one in texts if _words(one.name) & CONTEXT), None)
    if context is not None:
        mapping["templates"] = {"input": f"{{{{{context}}}}}\n\n{{{{{columns.pop('input')}}}}}"}
    system = next((one.name for one in texts if "system" in _words(one.name)), None)
    if system is not None:
        mapping["system"] = f"{{{{{system}}}}}"


def _found(columns: Sequence[str], rows: Sequence[Row], facts: Sequence[_Facts]) -> Proposed | None:
    usual = _by_usual_names(columns, rows)
    if usual is not None:
        return Proposed(usual, is_guess=False)
    pairs = [
        (
            asked.asks + answer.answers + (asked.index < answer.index),
            -asked.index,
            -answer.index,
            asked,
            answer,
        )
        for asked in facts
        for answer in facts
        if asked is not answer and asked.can_be_input and answer.can_be_output
    ]
    if pairs:
        *_, asked, answer = max(pairs, key=lambda pair: pair[:3])
        named = asked.name_asks >= NAMED and answer.name_answers >= NAMED
        found = {"input": asked.name, "output": answer.name}
        return Proposed({"target": "input-output", "columns": found}, is_guess=not named)
    texts = [one.name for one in facts if one.can_be_input and one.words >= PROSE_WORDS]
    if len(texts) == 1:
        return Proposed({"target": "text", "columns": {"text": texts[0]}}, is_guess=True)
    return None


def _by_usual_names(columns: Sequence[str], rows: Sequence[Row]) -> Mapped | None:
    by_name = {name.strip().lower().replace(" ", "_").replace("-", "_"): name for name in reversed(columns)}
    for shape, fields in USUAL.items():
        if shape not in ROW_SHAPES:
            continue
        found = {
            field: next(by_name[name] for name in usual if name in by_name)
            for field, usual in fields.items()
            if any(name in by_name for name in usual)
        }
        if len(set(found.values())) < len(fields):
            continue
        if "label" in found and not all(is_label(value_at(row, found["label"])) for row in rows):
            continue
        # A text beside columns with other names may be what is answered.
        if shape == "text" and any(_words(name) & ANSWERING for name in columns):
            continue
        # A conversation is a list; a column of that name with plain text is none.
        is_list = isinstance(value_at(rows[0], found[next(iter(found))]), list)
        if is_list == (shape == "messages") or shape.endswith("preference"):
            return {"target": shape, "columns": found}
    return None


@dataclass(frozen=True)
class _Facts:
    """What a column's name and its first values tell."""

    name: str
    index: int
    # How much the name is one of an input, and of an output.
    name_asks: float
    name_answers: float
    # The mean number of words of a value.
    words: float
    # How many of the values end with a question mark.
    questions: float
    # Whether values repeat, as those of a category do.
    repeats: bool
    has_text: bool
    can_be_input: bool
    can_be_output: bool

    @property
    def asks(self) -> float:
        return self.name_asks - self.name_answers + 2 * self.questions + min(self.words, MANY_WORDS) / 10

    @property
    def answers(self) -> float:
        prose = min(self.words, MANY_WORDS) / 10
        return self.name_answers - self.name_asks + (1.5 if self.repeats else prose) - self.questions


def _facts(name: str, rows: Sequence[Row]) -> _Facts:
    values = [value_at(row, name) for row in rows]
    texts = [value.strip() for value in values if isinstance(value, str) and value.strip()]
    known = _words(name)
    asks, answers = (_hint(known, sure, weak) for sure, weak in ((ASKING, ASKERS), (ANSWERING, ANSWERERS)))
    if asks == answers == NAMED:
        # The last word says what it is: "question category", "ticket answer".
        last = [word for word in _ordered_words(name) if word in ASKING | ANSWERING][-1]
        asks, answers = (NAMED, 0.0) if last in ASKING else (0.0, NAMED)
    is_text = len(texts) * 2 >= len(rows) > 0
    # Dates, links, numbers and codes are not learned unless a name asks for them.
    is_other = (known & OTHERS and max(asks, answers) < NAMED) or any(
        all(pattern.fullmatch(text) for text in texts) for pattern in (DATE, LINK, NUMBER, CODE)
    )
    distinct = len(set(texts))
    varies = distinct > 1 or len(rows) == 1
    numbers = sum(isinstance(value, int | float) for value in values)
    return _Facts(
        name,
        _place(name, rows),
        asks,
        answers,
        sum(len(text.split()) for text in texts) / max(1, len(texts)),
        sum(text.endswith(("?", "\uff1f", "\u061f")) for text in texts) / max(1, len(texts)),
        1 < distinct <= len(texts) / 2,
        len(texts) > 0,
        is_text and not is_other and (varies or asks == NAMED),
        (answers == NAMED and (is_text or numbers * 2 >= len(rows))) or (is_text and not is_other and varies),
    )


def _place(name: str, rows: Sequence[Row]) -> int:
    names = list(dict.fromkeys(key for row in rows for key in row))
    return next((index for index, key in enumerate(names) if name == key or name.startswith(f"{key}.")), 0)


def _hint(words: frozenset[str], sure: frozenset[str], weak: frozenset[str]) -> float:
    return NAMED if words & sure else HINTED if words & weak else 0.0


def _ordered_words(name: str) -> list[str]:
    """The words of a name, up to one such as "to" if something stands before it."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    words = re.findall(r"[^\W\d_]+", apart.lower())
    link = next((index for index, word in enumerate(words) if index > 0 and word in LINKS), len(words))
    return words[:link]


def _words(name: str) -> frozenset[str]:
    return frozenset(_ordered_words(name))
