"""What the ranks tell each other in every step, in one message of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainer.protocol.rank import Rank


class SharedFigures:
    """Tells all ranks each other's numbers and metrics.

    A metric goes as the sum and the number of its values, in a place that all ranks know once it was told.
    """

    def __init__(self, rank: Rank) -> None:
        self.rank = rank
        # The metrics in the order of their places.
        self.names: list[str] = []

    def share(
        self, numbers: Sequence[float], values: Mapping[str, Sequence[float]]
    ) -> tuple[list[list[float]], dict[str, float]]:
        """The `numbers` of each rank, which must be as many at all of them, and the means of the `values` of
        all ranks by name, of those that have any."""
        told = self._tell(numbers, values)
        if any(each[0] for each in told):
            self._learn(values)
            told = self._tell(numbers, values)
        count = len(numbers)
        means = {}
        for place, name in enumerate(self.names):
            first = 1 + count + 2 * place
            total, number = (sum(each[at] for each in told) for at in (first, first + 1))
            if number:
                means[name] = total / number
        return [each[1 : 1 + count] for each in told], means

    def _tell(self, numbers: Sequence[float], values: Mapping[str, Sequence[float]]) -> list[list[float]]:
        """Of each rank: whether it has a metric without a place, its numbers, and its metrics."""
        message = [float(bool(values.keys() - set(self.names))), *numbers]
        for name in self.names:
            found = values.get(name, ())
            message += [sum(found), len(found)]
        return self.rank.gather_numbers(message)

    def _learn(self, values: Mapping[str, Sequence[float]]) -> None:
        """Gives a place to all metrics that have none, at every rank the same."""
        new = {name for names in self.rank.gather(list(values)) for name in names}
        self.names += sorted(new.difference(self.names))
