"""What became of writes: when each was told on each stream of its project, and whether any was not."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.bench.steady import Call
from tests.bench.stream_clients import Diary


@dataclass
class Hints:
    """How long hints took, in seconds from a write's being sent and from its answer, and how many never came."""

    from_sent: list[float] = field(default_factory=list)
    from_answer: list[float] = field(default_factory=list)
    lost: int = 0

    @property
    def expected(self) -> int:
        """How many there should be: each write on each stream of its project."""
        return len(self.from_sent) + self.lost


def hints_of(writes: Sequence[Call], diary: Diary, *, before: Sequence[int], streams_per_project: int) -> Hints:
    """Find the hint that covers each write on each stream of its project.

    ``before`` holds the projects' memory revisions before the first write; each write's step is its project, and
    raises its revision by one (T9). A hint's id names the revision it tells of, and covers all before it (R3).
    """
    told: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for stream, at, memory in diary.hints:
        told[stream].append((at, memory))
    revisions = {project: _rising(told[project]) for project in list(told)}
    hints = Hints()
    now = list(before)
    for write in sorted(writes, key=lambda call: call.answered):
        if write.failure:
            continue
        project = write.step
        now[project] += 1
        for stream in range(project * streams_per_project, (project + 1) * streams_per_project):
            times, memories = revisions.get(stream, ([], []))
            first = bisect_left(memories, now[project])
            if first == len(memories):
                hints.lost += 1
            else:
                hints.from_sent.append(times[first] - write.due)
                hints.from_answer.append(times[first] - write.answered)
    return hints


def _rising(told: Sequence[tuple[float, int]]) -> tuple[list[float], list[int]]:
    """Keep the hints that told of something new, as times and revisions; a repeated hint is allowed (R3)."""
    times: list[float] = []
    memories: list[int] = []
    for at, memory in told:
        if not memories or memory > memories[-1]:
            times.append(at)
            memories.append(memory)
    return times, memories
