"""Whether a teacher has the tokens of its student: what it says of one must be of the same one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# The service says the same before the start, where it can read both (src/domain/teachers/same-tokens.ts).
INSTEAD = (
    "Choose a teacher with the student's tokens, such as a larger model of its family. Or teach by text: let "
    "the teacher answer your prompts, make rows of its answers, and train on these with sft."
)


def refuse_other_tokens(
    student: PreTrainedTokenizerBase, teacher: PreTrainedTokenizerBase, name: str
) -> None:
    """Failure `unsupported` at the first number that is another token in `teacher`, called `name`, than in
    `student`, or is one in only one of them."""
    ours, theirs = ({number: token for token, number in it.get_vocab().items()} for it in (student, teacher))
    for number in sorted(ours.keys() | theirs.keys()):
        mine, its = ours.get(number), theirs.get(number)
        if mine != its:
            raise Failure(
                "unsupported",
                f"The teacher {name} has other tokens than the student: token {number:,} is {_said(its)} in "
                f"the teacher and {_said(mine)} in the student.",
                INSTEAD,
            )


def _said(token: str | None) -> str:
    return "missing" if token is None else repr(token[:80])
