"""Which files training, export and preview of a hostile model open.

Python's own opens are seen by an audit hook; those of native code (safetensors, tokenizers, llama.cpp, and
the Node programs that an export starts) by strace, on machines that have it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trainer.tests import export_fixture, jobs, tiny

CANARY = "canary-5f0c"

# Writes each path that Python opens; imported by every Python process of the job before anything else.
HOOK = """
import os, sys
_log = os.open(os.environ["HONE_TEST_OPENED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def _opened(event, args):
    if event == "open" and isinstance(args[0], (str, bytes)):
        os.write(_log, os.fsencode(args[0]) + b"\\n")
sys.addaudithook(_opened)
"""

# Of the system: programs and libraries, devices, and facts about the machine that hold no secret.
SYSTEM = re.compile(
    r"/(usr|bin|sbin|opt|proc|lib\w*|sys|dev|run/systemd|etc/(ld\.so\.\w+|locale\.alias|localtime|passwd|group|nsswitch\.conf|"
    r"host\.conf|hosts|resolv\.conf|mime\.types|os-release|lsb-release|ssl|apache2|httpd|gai\.conf|OpenCL\b.*|"
    r"vulkan\b.*|debian_version|machine-id|protocols|services|timezone|system-release|libnuma\w*))(/|$)"
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A model that names a secret file wherever a library might open one."""
    home = tmp_path_factory.mktemp("home")
    secret = home / "secret.txt"
    words = ["<pad>", "<s>", "</s>", "<unk>", "[UNK]", "[SEP]", "[CLS]", "[PAD]", "[MASK]"]
    secret.write_text("\n".join([CANARY, *words]) + "\n")
    (home / ".cache" / "huggingface").mkdir(parents=True)
    (home / ".cache" / "huggingface" / "token").write_text(f"hf_{CANARY}")
    (home / ".env").write_text(f"HUB_TOKEN={CANARY}")
    model = tiny.build("llama", tmp_path_factory.mktemp("hostile") / "model", "chatml")
    place = str(secret)
    files = {
        **dict.fromkeys(
            ("vocab", "merges", "vocab_file", "merges_file", "tokenizer_file", "spm_file"), place
        ),
        **dict.fromkeys(("special_tokens_map_file", "added_tokens_file", "chat_template_file"), place),
        "name_or_path": str(home),
        "sp_model_kwargs": {"model_file": place},
        "fast_tokenizer_files": [place],
    }
    extend(model / "tokenizer_config.json", files)
    extend(model / "special_tokens_map.json", {"vocab": "/proc/self/environ", "tokenizer_file": place})
    extend(model / "generation_config.json", files)
    extend(model / "config.json", {**files, "transformers_weights": f"../../{home.name}/secret.safetensors"})
    extend(model / "adapter_config.json", {"peft_type": "LORA", "base_model_name_or_path": str(home)})
    extend(model / "preprocessor_config.json", files)
    extend(model / "modules.json", files)
    (model / "additional_chat_templates").mkdir()
    (model / "additional_chat_templates" / "extra.jinja").symlink_to(secret)
    (model / "chat_template.jinja").write_text(
        "{% if false %}{% include '" + place + "' %}{% endif %}" + tiny.CHATML
    )
    return model, home


def extend(path, fields):
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**known, **fields}))


class Watched:
    """Runs verbs of the trainer and keeps what they open."""

    def __init__(self, folder, home, native):
        self.folder, self.home, self.native = folder, home, native
        (folder / "hook").mkdir(parents=True)
        (folder / "hook" / "sitecustomize.py").write_text(HOOK)
        self.opened, self.trace = folder / "opened.txt", folder / "trace.txt"

    def run(self, verb, spec, *more):
        tracer = strace(self.trace) if self.native else []
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("HF_", "XDG_"))},
            "HOME": str(self.home),
            "HONE_TEST_OPENED": str(self.opened),
            "MY_SECRET": f"{CANARY}-of-the-environment",
            "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": f"{self.folder / 'hook'}:{jobs.ROOT}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return subprocess.run(
            [*tracer, sys.executable, "-m", "trainer", verb, str(spec), *more],
            cwd=spec.parent,
            env=environment,
            capture_output=True,
            text=True,
        )

    def outside(self, *folders):
        """The paths that were opened and lie neither in `folders` nor in the installation and the system."""
        known = [Path(sys.prefix), Path(sys.base_prefix), jobs.ROOT, self.folder, *folders]
        roots = tuple(f"{place}{os.sep}" for folder in known for place in {folder, folder.resolve()})
        paths = set(self.opened.read_text(errors="replace").split("\n"))
        assert len(paths) > 100
        # Libraries read the environment of their own process while they are loaded, but not through Python.
        environments = [path for path in paths if path.endswith("/environ")]
        if self.trace.exists():
            trace = self.trace.read_text(errors="replace")
            traced = set(re.findall(r'"(/[^"]*)".* = \d+', trace))
            assert len(traced) > 100
            paths |= traced
        files = {os.path.realpath(path) for path in paths if path.startswith("/") and os.path.isfile(path)}
        elsewhere = [path for path in files if not path.startswith(roots)]
        return environments + [path for path in elsewhere if not SYSTEM.match(path)]


def strace(out):
    """The command that records every file that a process and its children open, where it works."""
    if shutil.which("strace") is None:
        return []
    events = ("-e", "trace=open,openat,openat2", "-e", "signal=none")
    command = ["strace", "-f", "-qq", *events, "-A", "-o", str(out)]
    # A container may forbid tracing.
    return [] if subprocess.run([*command, "true"], capture_output=True).returncode else command


# Tracing makes a run several times slower.
native = pytest.mark.parametrize("native", [False, pytest.param(True, marks=pytest.mark.long)])


@native
def test_training_and_export_open_files_of_the_model_the_job_and_the_installation_alone(
    hostile, tmp_path, native
):
    model, home = hostile
    watched = Watched(tmp_path / "watched", home, native)
    top = {"export": {"quantizations": ["Q8_0"]}, "tools": export_fixture.TOOLS}
    spec = jobs.make(tmp_path / "job", model, top=top, max_steps=1)
    ended = watched.run("run", spec)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-3000:]
    assert jobs.journal(spec)[-1]["outcome"] == "completed"
    assert watched.outside(model, spec.parent) == []
    assert CANARY not in ended.stdout + ended.stderr
    made = [path for path in spec.parent.rglob("*") if path.is_file()]
    assert {"model-Q8_0.gguf", "tokenizer.json", "tokenizer_config.json"} <= {path.name for path in made}
    for path in made:
        assert CANARY.encode() not in path.read_bytes(), path


@native
def test_a_preview_shows_no_line_of_a_file_that_a_tokenizer_names(hostile, tmp_path, native):
    model, home = hostile
    watched = Watched(tmp_path / "watched", home, native)
    spec = jobs.make(tmp_path / "job", shutil.copytree(model, tmp_path / "model", symlinks=True))
    folder = tmp_path / "model"
    for vocab in (str(home / "secret.txt"), "/proc/self/environ"):
        # With no tokenizer.json a BertTokenizer is made of whatever `vocab` names.
        (folder / "tokenizer.json").unlink(missing_ok=True)
        (folder / "spiece.model").write_text("x")
        (folder / "tokenizer_config.json").write_text(
            json.dumps({"tokenizer_class": "BertTokenizer", "vocab": vocab, "unk_token": "[UNK]"})
        )
        ended = watched.run("preview", spec, "--rows", "3")
        assert CANARY not in ended.stdout + ended.stderr
    assert watched.outside(folder, spec.parent) == []
