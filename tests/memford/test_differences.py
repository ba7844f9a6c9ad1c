"""What differs between two texts, and how it is printed (W2, W4)."""

import html
import random
import re
import time

import pytest
from django.template import engines
from hypothesis import given
from hypothesis import strategies as st

from memford.core.differences import SECONDS_MAX, differences
from memford.templatetags.workspace import marked
from projects.selectors import NoteFilter

TEXTS = st.text(max_size=200) | st.lists(
    st.sampled_from(["lamp", "Lamp", "<b>", "&amp;", " ", "\n", "fog", "灯台", "'", '"', "🗼", "a-b"]), max_size=60
).map("".join)


@given(TEXTS, TEXTS)
def test_the_pieces_are_both_texts(older: str, newer: str) -> None:
    pieces = differences(older, newer)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == older
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == newer
    assert all(piece.text for piece in pieces)


def test_words_are_never_cut() -> None:
    pieces = differences("the fog horn follows the clock", "the fog horns follow the clock")
    changed = {(piece.kind, piece.text) for piece in pieces if piece.kind != "same"}
    assert changed == {("removed", "horn follows"), ("added", "horns follow")}


@pytest.mark.parametrize("words", [2, 50, 30_000])
def test_the_longest_texts_take_bounded_time(words: int) -> None:
    chance = random.Random(words)
    texts = [" ".join(str(chance.randrange(words)) for _ in range(12_000))[:32_000] for _ in range(2)]
    begin = time.process_time()
    pieces = differences(*texts)
    assert time.process_time() - begin < 6 * SECONDS_MAX
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == texts[0]


@given(TEXTS, st.lists(st.sampled_from(["l", "lamp", "fog", "amp", "b", "灯"]), max_size=3))
def test_marks_change_nothing_but_marking(text: str, beginnings: list[str]) -> None:
    printed = str(marked(text, beginnings))
    assert html.unescape(re.sub("</?mark>", "", printed)) == text
    assert "<" not in re.sub("</?mark>", "", printed)


@given(TEXTS, TEXTS)
def test_a_difference_is_printed_with_all_escaped(older: str, newer: str) -> None:
    template = engines["django"].from_string('{% include "projects/parts/difference.html" %}')
    printed = template.render({"older": older, "newer": newer})
    body = printed.partition('difference">')[2].partition("</p>")[0]
    assert "<" not in re.sub("</?(ins|del)>", "", body)
    theirs = re.sub("<ins>.*?</ins>", "", body, flags=re.DOTALL)
    assert html.unescape(re.sub("</?del>", "", theirs)) == older


@pytest.mark.parametrize(
    ("words", "beginnings"),
    [
        ("Lamp fog", ["lamp", "fog"]),
        ('"red lamp" -fog', ["red", "lamp"]),
        ('-"red lamp" fog', ["fog"]),
        ("fog OR horn", ["fog", "horn"]),
        ("a-b", ["a", "b"]),
        ("-", []),
    ],
)
def test_what_is_excluded_is_not_marked(words: str, beginnings: list[str]) -> None:
    assert NoteFilter(words=words).beginnings == beginnings
