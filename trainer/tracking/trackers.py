"""The trackers, each by its library's own logging interface."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from trainer.tracking.figures import Figures


class Run(NamedTuple):
    """A run as a tracker knows it. `id` is the same whenever it is continued; in `folder`, a tracker
    without a server keeps what it is given."""

    id: str
    name: str
    project: str
    folder: Path
    settings: dict[str, bool | int | float | str]


class Tracker(Protocol):
    """A place for figures."""

    #: Where the run is, in words, and its address if a browser can open it.
    where: str
    url: str | None
    #: Whether a process that continues the run gives it everything again.
    begins_anew: bool

    def log(self, figures: list[Figures]) -> None:
        """Adds the figures of some steps, in their order."""

    def finish(self, state: str) -> None:
        """Ends the run in this state of the job; in an empty one if it will be continued."""


class Wandb:
    """Weights & Biases. Without a key it is offline: a folder, which `wandb sync` uploads."""

    def __init__(self, run: Run) -> None:
        wandb: Any = import_module("wandb")
        mode = os.environ.get("WANDB_MODE") or ("online" if os.environ.get("WANDB_API_KEY") else "offline")
        self.begins_anew = mode == "offline"
        if self.begins_anew:
            # W&B itself cannot continue a run offline.
            for folder in run.folder.glob(f"wandb/offline-run-*-{run.id}"):
                shutil.rmtree(folder)
        self._run: Any = wandb.init(
            project=run.project,
            id=run.id,
            name=run.name,
            mode=mode,
            resume=None if self.begins_anew else "allow",
            dir=str(run.folder),
            config=run.settings,
            # The figures and the settings alone: no output, code, machine or packages.
            settings=wandb.Settings(
                console="off",
                silent=True,
                x_disable_stats=True,
                x_disable_meta=True,
                disable_git=True,
                save_code=False,
            ),
        )
        self._run.define_metric("global_step", hidden=True)
        self._run.define_metric("*", step_metric="global_step", step_sync=True)
        self.url: str | None = self._run.url
        folder = Path(self._run.dir).parent
        self.where = f"{folder}. Upload it with: wandb sync {folder}" if self.url is None else self.url

    def log(self, figures: list[Figures]) -> None:
        """As `Tracker.log`."""
        for step, time, values in figures:
            self._run.log({**values, "global_step": step, "_timestamp": time.timestamp()})

    def finish(self, state: str) -> None:
        """As `Tracker.finish`."""
        self._run.finish(exit_code=0 if state in ("completed", "stopped", "") else 1)


class Mlflow:
    """MLflow. Without the address of a server it is a SQLite file."""

    def __init__(self, run: Run) -> None:
        mlflow: Any = import_module("mlflow")
        self._entities: Any = import_module("mlflow.entities")
        self.begins_anew = False
        address = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{run.folder / 'mlflow.db'}"
        self._client: Any = mlflow.MlflowClient(address)
        experiment = self._client.get_experiment_by_name(run.project)
        # Artifacts, of which there are none, would get a folder in the working directory.
        self._experiment = (
            self._client.create_experiment(
                run.project, None if address.startswith("http") else (run.folder / "artifacts").as_uri()
            )
            if experiment is None
            else experiment.experiment_id
        )
        found = self._client.search_runs([self._experiment], f"tags.hone_run = '{run.id}'")
        if found:
            self._id = found[0].info.run_id
            self._client.update_run(self._id, status="RUNNING")
        else:
            made = self._client.create_run(self._experiment, run_name=run.name, tags={"hone_run": run.id})
            self._id = made.info.run_id
            params = [self._entities.Param(name, str(value)) for name, value in run.settings.items()]
            self._client.log_batch(self._id, params=params)
        self.url = None
        if address.startswith("http"):
            place = urlsplit(address)
            host = place.netloc.rpartition("@")[2]
            base = f"{place.scheme}://{host}{place.path.rstrip('/')}"
            self.url = f"{base}/#/experiments/{self._experiment}/runs/{self._id}"
        self.where = self.url or f"{run.folder}. See it with: mlflow ui --backend-store-uri {address}"

    def log(self, figures: list[Figures]) -> None:
        """As `Tracker.log`."""
        metrics = [
            self._entities.Metric(_mlflow_name(name), value, int(time.timestamp() * 1000), step)
            for step, time, values in figures
            for name, value in values.items()
        ]
        # The most that a request may have.
        for start in range(0, len(metrics), 1000):
            self._client.log_batch(self._id, metrics=metrics[start : start + 1000])

    def finish(self, state: str) -> None:
        """As `Tracker.finish`."""
        if state:
            status = {"completed": "FINISHED", "stopped": "KILLED"}.get(state, "FAILED")
            self._client.set_terminated(self._id, status)


def _mlflow_name(name: str) -> str:
    return re.sub(r"/+", "/", re.sub(r"[^\w\-. /]", "_", name))


class Trackio:
    """Trackio. Without a Space or server it is a SQLite file for each project."""

    def __init__(self, run: Run) -> None:
        os.environ.setdefault("TRACKIO_DIR", str(run.folder))
        trackio: Any = import_module("trackio")
        self.begins_anew = False
        self._run: Any = trackio.init(
            project=run.project,
            # Runs are told apart by their names.
            name=f"{run.name} {run.id}",
            config=run.settings,
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        space, server = os.environ.get("TRACKIO_SPACE_ID"), os.environ.get("TRACKIO_SERVER_URL")
        # The address of a server may have its write token.
        self.url = f"https://huggingface.co/spaces/{space}" if space else server and server.partition("?")[0]
        folder = os.environ["TRACKIO_DIR"]
        show = f'TRACKIO_DIR="{folder}" trackio show --project "{run.project}"'
        self.where = self.url or f"{folder}. See it with: {show}"

    def log(self, figures: list[Figures]) -> None:
        """As `Tracker.log`."""
        for step, _time, values in figures:
            self._run.log(values, step=step)

    def finish(self, state: str) -> None:
        """As `Tracker.finish`."""
        self._run.finish()


TRACKERS: Mapping[str, type[Wandb] | type[Mlflow] | type[Trackio]] = {
    "wandb": Wandb,
    "mlflow": Mlflow,
    "trackio": Trackio,
}
