"""A dataset scored with a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hone.errors import HoneError
from hone.http import Http
from hone.waiting import Display, wait_for

if TYPE_CHECKING:
    from hone.types import Evaluation as Data


class Evaluation:
    """An evaluation, as it was when it was last asked for.

    Attributes:
        data: everything that the API says of it.
    """

    def __init__(self, http: Http, data: Data) -> None:
        self._http = http
        self.data = data

    @property
    def id(self) -> str:
        return self.data["evaluation_id"]

    @property
    def figures(self) -> dict[str, Any] | None:
        """Such as `loss`, `exact_match` and `rougeL`; None before the end."""
        return self.data["figures"]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows with their answers and figures."""
        return self.data["results"]

    def follow(self) -> Evaluation:
        """Shows the progress until the end. Raises HoneError if it does not complete."""
        display = Display()

        def look() -> Evaluation:
            self.data = self._http.ask("GET", f"/api/evaluations/{self.id}")
            return self

        wait_for(look, lambda one: one.data["state"] in ("completed", "failed", "cancelled"), display.show)
        display.end()
        if self.data["state"] != "completed":
            raise HoneError(f"{self.id} is {self.data['state']}. {self.data['error'] or ''}".strip())
        return self

    def __repr__(self) -> str:
        figures = self.figures or {}
        shown = [f"{name} {value:.3g}" for name, value in figures.items() if isinstance(value, int | float)]
        return " · ".join([self.id, self.data["state"], *shown])
