"""A trained model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hone.http import Http
from hone.waiting import wait_for

if TYPE_CHECKING:
    from hone.types import CataloguedModel


class Model:
    """A trained model.

    Attributes:
        data: everything that the API says of it.
    """

    def __init__(self, http: Http, data: CataloguedModel) -> None:
        self._http = http
        self.data = data

    @property
    def id(self) -> str:
        return self.data["model_id"]

    @property
    def name(self) -> str:
        return self.data["name"]

    def ask(self, prompt: str, *, system: str | None = None, **options: Any) -> str:
        """The answer to a prompt; options as `chat` has them."""
        first = [] if system is None else [{"role": "system", "content": system}]
        return self.chat([*first, {"role": "user", "content": prompt}], **options)

    def chat(self, messages: Sequence[dict[str, Any]], **options: Any) -> str:
        """The answer to a conversation.

        Args:
            messages: as OpenAI's chat completions have them.
            options: fields of a chat completion, such as `temperature=0` and `max_tokens=200`.
        """
        answer = self._http.ask("POST", "/v1/chat/completions", self._body(messages, options))
        return answer["choices"][0]["message"]["content"]

    def stream(self, messages: Sequence[dict[str, Any]], **options: Any) -> Iterator[str]:
        """As `chat`, in pieces as they are written."""
        for event in self._http.events(
            "/v1/chat/completions", {**self._body(messages, options), "stream": True}
        ):
            for choice in event.get("choices", []):
                if piece := choice["delta"].get("content"):
                    yield piece

    def _body(self, messages: Sequence[dict[str, Any]], options: dict[str, Any]) -> dict[str, Any]:
        return {"model": self.name, "messages": list(messages), **options}

    def files(self) -> list[str]:
        """The names of its files."""
        return [file["name"] for file in self._http.ask("GET", f"/api/models/{self.id}/files")["files"]]

    def export(self, *quantizations: str, merged: bool = False, adapter_gguf: bool = False) -> Model:
        """Makes GGUF files, such as `Q4_K_M`, and waits for them. Raises Refused.

        Args:
            merged: also the folder `merged/`, which transformers, vLLM and MLX load.
            adapter_gguf: also `adapter.gguf`, the adapter for llama.cpp.
        """
        path = f"/api/models/{self.id}/export"
        body: dict[str, Any] = {"merged": merged, "adapter_gguf": adapter_gguf}
        if quantizations or not (merged or adapter_gguf):
            body["quantizations"] = list(quantizations)
        self._http.ask("POST", path, body)
        wait_for(
            lambda: self._http.ask("GET", path), lambda export: export["underway"] is None, lambda _: None
        )
        return self

    def download(self, to: str | PathLike[str], file: str | None = None) -> Path:
        """Saves one of its files into a folder. By default its first GGUF file, of the whole model. Returns
        the path.

        Raises:
            LookupError: if it has no such file.
        """
        names = self.files()
        name = file or next((one for one in names if re.fullmatch(r"model-.+\.gguf", one)), None)
        if name not in names:
            raise LookupError(f"{self.name} has no file {name or 'of GGUF'}. Its files are {names}.")
        path = Path(to) / Path(name).name
        self._http.save(f"/api/models/{self.id}/files/{quote(name, safe='')}", path)
        return path

    def __repr__(self) -> str:
        return f"<Model {self.name} of {self.data['base_model']}>"
