"""A rank that trains alone agrees with itself, without torch."""

import pytest

from trainer.protocol.rank import Rank, lost_a_peer
from trainer.protocol.stop import Stopped


def test_alone_every_value_is_its_own() -> None:
    rank = Rank()
    assert rank.first and not rank.meets
    assert rank.broadcast("a") == "a" and rank.decide(3) == 3
    assert rank.all_gather("a") == ["a"] and rank.all_gather_numbers((1, 2)) == [[1, 2]]
    assert rank.all_reduce(5) == 5
    assert rank.once(lambda: 7) == 7
    with rank.in_turn():
        pass
    rank.join("cpu")
    rank.leave()
    rank.restore_environment()


def test_a_rank_is_the_first_by_its_number_and_meets_by_its_address() -> None:
    assert not Rank(number=1, world=2).first
    assert Rank(meeting="file:///ranks").meets


def test_what_is_done_once_may_be_stopped() -> None:
    def stop() -> None:
        raise Stopped

    with pytest.raises(Stopped):
        Rank().once(stop)


@pytest.mark.parametrize(
    ("message", "lost"),
    [
        ("[gloo] Connection closed by peer", True),
        ("NCCL error: remote process exited", True),
        ("out of memory", False),
    ],
)
def test_a_lost_peer_is_told_from_other_errors(message: str, lost: bool) -> None:
    assert lost_a_peer(RuntimeError(message)) is lost
