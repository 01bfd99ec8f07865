from __future__ import annotations

import os
from pathlib import Path

import pytest

from trainer.model import check
from trainer.protocol.failures import Failure


@pytest.mark.parametrize("file", sorted(check.LARGEST))
def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path, file: str) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    # Sparse: it takes no space.
    with (tmp_path / file).open("wb") as huge:
        os.truncate(huge.fileno(), 300 * 2**20)
    with pytest.raises(Failure) as refused:
        check.read_config(tmp_path, "owner/name")
    assert refused.value.code == "bad_model"
    assert f"{file} of owner/name has 300 MiB, more than the limit of" in str(refused.value)


def test_files_of_ordinary_size_pass(tmp_path: Path) -> None:
    for file in check.LARGEST:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("{}")
    check.check_sizes(tmp_path, "owner/name")
