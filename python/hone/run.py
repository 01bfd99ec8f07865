"""A training."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from hone.chart import chart
from hone.errors import HoneError
from hone.http import Http
from hone.model import Model
from hone.waiting import Display, wait_for

if TYPE_CHECKING:
    from hone.types import Job, Metrics

AT_REST = frozenset({"completed", "failed", "stopped", "interrupted"})


class RunFailed(HoneError):
    """A run ended without a model."""


class Run:
    """A run of a training, as it was when it was last asked for (`refresh`).

    Attributes:
        data: everything that the API says of it.
    """

    def __init__(self, http: Http, data: Job) -> None:
        self._http = http
        self.data = data
        self._points: list[tuple[float, float]] = []

    @property
    def id(self) -> str:
        """Such as `train_7`."""
        return self.data["job_id"]

    @property
    def state(self) -> str:
        """`queued`, `starting`, `running`, `stopping`, `completed`, `failed`, `stopped` or `interrupted`."""
        return self.data["state"]

    def refresh(self) -> Run:
        """Asks for it again."""
        self.data = self._http.ask("GET", f"/api/jobs/{self.id}")
        return self

    def follow(self) -> Run:
        """Shows the progress until the end.

        Raises:
            RunFailed: if the run does not complete, with the reason and what to do.
        """
        display = Display()
        wait_for(self._look, lambda _: self.state in AT_REST, display.show)
        display.end()
        if self.state != "completed":
            error = self.data["error"] or {}
            why = [error.get("message") or self.data["message"], error.get("advice")]
            raise RunFailed(f"{self.id} is {self.state}. {' '.join(text for text in why if text)}")
        return self

    def _look(self) -> Run:
        self.refresh()
        points = self.metrics()["train"]
        self._points = [(point["step"], point["loss"]) for point in points if point.get("loss") is not None]
        return self

    def metrics(self) -> Metrics:
        """The figures of its steps (`train`) and evaluations (`eval`)."""
        return self._http.ask("GET", f"/api/jobs/{self.id}/metrics?points=300")

    def stop(self) -> Run:
        """Saves a checkpoint and ends; `resume` goes on from there."""
        self.data = self._http.ask("POST", f"/api/jobs/{self.id}/stop", {})
        return self

    def resume(self) -> Run:
        """Goes on from the last checkpoint."""
        self._http.ask("POST", f"/api/jobs/{self.id}/resume", {})
        return self.refresh()

    @property
    def verdict(self) -> str | None:
        """What the training came to, in a sentence."""
        verdict: dict[str, Any] | None = self.data.get("verdict")
        return None if verdict is None else verdict["judgement"]["sentence"]

    @property
    def model(self) -> Model:
        """The model that it made. Raises LookupError while there is none."""
        for found in self._http.ask("GET", "/api/catalog")["models"]:
            if found["job_id"] == self.id:
                return Model(self._http, found)
        raise LookupError(f"{self.id} has made no model: it is {self.state}.")

    def __str__(self) -> str:
        last = self.data["last_metric"]
        parts = [f"{self.id} {self.data['progress']:.0f}%", self.state]
        if last is not None:
            parts.append(f"step {last['step']}/{last['total_steps']}")
            if last["loss"] is not None:
                parts.append(f"loss {last['loss']:.3f}")
        left = self.data["seconds_left"]
        if left is not None and self.state not in AT_REST:
            parts.append(f"about {left:.0f} s left")
        if self.state == "completed" and self.verdict:
            parts.append(self.verdict)
        return " · ".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        bar = f'<progress max="100" value="{self.data["progress"]:.1f}" style="width: 30em"></progress>'
        return f"<div>{bar}<br>{escape(str(self))}</div>{chart(self._points, 'loss')}"
