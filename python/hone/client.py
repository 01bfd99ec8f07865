"""The service, as an object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hone.evaluation import Evaluation
from hone.http import Http
from hone.model import Model
from hone.rows import as_file
from hone.run import Run
from hone.waiting import wait_for

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from hone.types import Estimate, EvaluationOptions, RowMaking, RowOptions, TrainingSettings


class Hone:
    """A running service.

    Args:
        url: its address. By default the variable `HONE_URL`, else the service of this user on this machine.
        key: an access key, which a service elsewhere needs. By default the variable `HONE_ACCESS_KEY`.
    """

    def __init__(self, url: str | None = None, key: str | None = None) -> None:
        self.http = Http(url, key)

    @property
    def url(self) -> str:
        """The address of the service."""
        return self.http.url

    def upload(self, rows: Any, name: str | None = None) -> str:
        """Stores rows as a dataset. The same rows are stored once.

        Args:
            rows: a path of JSONL, a list of dictionaries or a DataFrame.
            name: of the dataset, such as `support.jsonl`.
        Returns:
            The dataset's name.
        Raises:
            Refused: with the faults of the rows.
        """
        filename, content = as_file(rows)
        return self.http.upload("/api/upload_dataset", name or filename, content)["filename"]

    def _stored(self, rows: Any) -> str:
        is_name = isinstance(rows, str) and not Path(rows).is_file()
        return rows if is_name else self.upload(rows)

    def _request(self, rows: Any, model: str, task: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        # A folder of this machine; the service may run in another one.
        path = Path(model).expanduser()
        named = str(path.resolve()) if path.is_dir() else model
        return {"task": task, "dataset": self._stored(rows), "model_name": named, **settings}

    def train(
        self, rows: Any, model: str, task: str = "text-generation", **settings: Unpack[TrainingSettings]
    ) -> Run:
        """Starts a training.

        Args:
            rows: a path of JSONL, a list of dictionaries, a DataFrame, or the name of a stored dataset.
            model: the base: owner/name on the hub, or a folder.
            task: what is learned.
            settings: such as `num_train_epochs=3` and `eval_split=0.1`.
        Raises:
            Refused: with the faults of the rows and settings.
        """
        started = self.http.ask(
            "POST", "/api/finetune/start_training", self._request(rows, model, task, settings)
        )
        return self.run(started["job_id"])

    def estimate(
        self, rows: Any, model: str, task: str = "text-generation", **settings: Unpack[TrainingSettings]
    ) -> Estimate:
        """The time, memory and disk space that a training needs; arguments as `train` has them."""
        return self.http.ask("POST", "/api/estimate", self._request(rows, model, task, settings))

    def evaluate(
        self, dataset: Any, model: str | Model | None = None, **options: Unpack[EvaluationOptions]
    ) -> Evaluation:
        """Scores a dataset with a model.

        Args:
            dataset: its rows, or its name, as `train` has them.
            model: a trained model, by name or ID; without it, `base_model="owner/name"` is scored.
            options: such as `rows=100` and `graders=["exact"]`.
        """
        asked: dict[str, Any] = {"dataset": self._stored(dataset), **options}
        if model is not None:
            asked["model"] = model.id if isinstance(model, Model) else model
        return Evaluation(self.http, self.http.ask("POST", "/api/evaluations", asked))

    def make_rows(
        self,
        documents: Iterable[str | PathLike[str]],
        model: str,
        name: str,
        kind: str = "question-answer",
        **options: Unpack[RowOptions],
    ) -> RowMaking:
        """Makes a dataset of documents, and waits until it is made.

        Args:
            documents: paths of PDF, DOCX, HTML, Markdown or text files; none for variants of a `dataset`.
            model: who writes the rows: any name that `/v1/chat/completions` answers to.
            name: of the dataset, before `.jsonl`.
            kind: of the rows, such as `summary`.
            options: such as `max_rows=500`, `grader="brief"` and `bar=0.5`.
        Returns:
            The making, whose `datasets` are what was written, also if its `state` is `failed`.
        Raises:
            Refused: for a document that cannot be read, or other options.
        """
        paths = [Path(one) for one in documents]
        added = [self.http.upload("/api/documents", one.name, one.read_bytes())["id"] for one in paths]
        asked = {
            **options,
            "name": name,
            "kind": kind,
            "model": model,
            "documents": added or None,
        }
        path = f"/api/document_rows/{self.http.ask('POST', '/api/document_rows', asked)['id']}"
        return wait_for(
            lambda: self.http.ask("GET", path),
            lambda making: making["state"] not in ("queued", "running"),
            lambda _: None,
        )

    def run(self, job_id: str) -> Run:
        """A run by its ID, such as `train_7`. Raises Refused if there is none."""
        return Run(self.http, self.http.ask("GET", f"/api/jobs/{quote(job_id, safe='')}"))

    def runs(self) -> list[Run]:
        """The newest runs, newest first."""
        return [Run(self.http, job) for job in self.http.ask("GET", "/api/jobs")["jobs"]]

    def models(self) -> list[Model]:
        """The newest models, newest first."""
        return [Model(self.http, found) for found in self.http.ask("GET", "/api/catalog")["models"]]

    def model(self, name: str) -> Model:
        """A model by its name or ID. Raises LookupError if there is none."""
        for found in self.models():
            if name in (found.id, found.name, found.data["display_name"]):
                return found
        raise LookupError(
            f"There is no model {name!r}. The models are {[found.name for found in self.models()]}."
        )

    def save_report(self, run: Run, to: str | PathLike[str]) -> Path:
        """Saves the report of a run, one HTML file."""
        path = Path(to)
        self.http.save(f"/api/jobs/{run.id}/report", path)
        return path
