"""The answers that both sides of the benches of rlhf's policy and of grpo write.

A model draws its answers, and different precisions or orders of computing draw different ones, whose losses cannot be
compared. So both sides compute and draw every token, and then write that of a script: the answers of the rows, which
also end where answers of such lengths end.
"""

import json

# Most tokens of an answer that rlhf generates.
LONGEST = 256
# What the steps of both sides must have in common, and TRL's names of it. The loss itself is always 0: what the answers
# to a prompt are better than the others adds up to nothing.
TOLD = {"loss": "entropy", "margin": "reward", "gradient": "grad_norm"}


class Script:
    """`copies` answers to each prompt of the rows in the folder `folder`: those of the row and of the next ones, of at most
    `longest` tokens, or as many as rlhf chooses."""

    def __init__(
        self, folder: str, tokenizer, copies: int, longest: int | None = None
    ) -> None:
        with open(f"{folder}/rows.jsonl", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]

        def tokens(text: str, *end: int) -> list[int]:
            return [*tokenizer(text, add_special_tokens=False).input_ids, *end]

        ended = [
            [
                tokens(row[name], tokenizer.eos_token_id)
                for name in ("chosen", "rejected")
            ]
            for row in rows
        ]
        most = max(len(answer) for both in ended for answer in both)
        self.copies = copies
        self.longest = longest or min(LONGEST, -(-int(-(-most * 5 // 4)) // 8) * 8)
        self.written = {
            tuple(tokens(row["prompt"] + "\n###\n")): [
                answer[: self.longest]
                for next in range(copies // 2)
                for answer in ended[(at + next) % len(rows)]
            ]
            for at, row in enumerate(rows)
        }

    def answers(self, prompts: list[list[int]]) -> list[list[int]]:
        """The answer to each of `prompts`, of which `copies` in turn are the same."""
        return [
            self.written[tuple(prompt)][place % self.copies]
            for place, prompt in enumerate(prompts)
        ]


def told_of_step(logs: dict[str, float]) -> dict[str, float]:
    """What is compared of a step."""
    return {name: float(logs[theirs]) for name, theirs in TOLD.items()}
