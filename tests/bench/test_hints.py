"""The bench's judge of hints: which hint covers a write, and which write was told to nobody."""

from tests.bench.hints import hints_of
from tests.bench.steady import Call
from tests.bench.stream_clients import Diary


def test_a_later_hint_covers_the_writes_before_it() -> None:
    writes = [Call(0, 1.0, 1.1), Call(0, 1.2, 1.3)]
    diary = Diary(hints=[(0, 0.5, 7), (0, 1.5, 9)])
    hints = hints_of(writes, diary, before=[7], streams_per_project=1)
    assert hints.lost == 0
    assert [round(lag, 3) for lag in hints.from_sent] == [0.5, 0.3]


def test_a_write_that_one_stream_of_its_project_never_heard_of_is_lost() -> None:
    diary = Diary(hints=[(0, 1.5, 1), (1, 1.5, 0), (2, 1.5, 5)])
    hints = hints_of([Call(0, 1.0, 1.1)], diary, before=[0, 0], streams_per_project=2)
    assert (hints.lost, hints.expected) == (1, 2)


def test_a_repeated_hint_of_an_older_revision_takes_nothing_back() -> None:
    diary = Diary(hints=[(0, 1.5, 3), (0, 2.0, 2), (0, 2.5, 4)])
    hints = hints_of([Call(0, 1.0, 1.1), Call(0, 2.1, 2.2)], diary, before=[2], streams_per_project=1)
    assert [round(lag, 3) for lag in hints.from_sent] == [0.5, 0.4]


def test_a_write_that_failed_is_not_expected() -> None:
    hints = hints_of([Call(0, 1.0, 1.1, "TimeoutError")], Diary(), before=[0], streams_per_project=1)
    assert hints.expected == 0
