"""What the ranks exchange in every step, in one message of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainer.protocol.rank import Rank


class SharedFigures:
    """Gives all ranks each other's numbers and metrics.

    A metric goes as the sum and the number of its values, in a slot that all ranks agree on before.
    """

    def __init__(self, rank: Rank) -> None:
        self.rank = rank
        # The metrics in the order of their slots.
        self.names: list[str] = []

    def share(
        self, numbers: Sequence[float], values: Mapping[str, Sequence[float]]
    ) -> tuple[list[list[float]], dict[str, float]]:
        """The `numbers` of each rank, which must be as many at all of them, and the means of the `values` of
        all ranks by name, of those that have any."""
        gathered = self._exchange(numbers, values)
        if any(each[0] for each in gathered):
            self._register(values)
            gathered = self._exchange(numbers, values)
        count = len(numbers)
        means = {}
        for slot, name in enumerate(self.names):
            first = 1 + count + 2 * slot
            total, number = (sum(each[at] for each in gathered) for at in (first, first + 1))
            if number:
                means[name] = total / number
        return [each[1 : 1 + count] for each in gathered], means

    def _exchange(self, numbers: Sequence[float], values: Mapping[str, Sequence[float]]) -> list[list[float]]:
        """Of each rank: whether it has a metric without a slot, its numbers, and its metrics."""
        message = [float(bool(values.keys() - set(self.names))), *numbers]
        for name in self.names:
            found = values.get(name, ())
            message += [sum(found), len(found)]
        return self.rank.all_gather_numbers(message)

    def _register(self, values: Mapping[str, Sequence[float]]) -> None:
        """Gives a slot to all metrics that have none, at every rank the same."""
        new = {name for names in self.rank.all_gather(list(values)) for name in names}
        self.names += sorted(new.difference(self.names))
