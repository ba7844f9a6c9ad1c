"""What the bench asks of the machine: cores to pin to, processor time, memory, and what it is."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cores() -> list[int]:
    """Return the cores this process may use; none where the platform cannot tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


@contextmanager
def on_cores(wanted: set[int]) -> Iterator[None]:
    """Run the block, and the processes it starts, on these cores; nothing changes where the set is empty."""
    if not wanted:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, wanted)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cpu_seconds(pid: int) -> float:
    """Return the processor time a process has used; 0 where there is no ``/proc``."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


def family_cpu_seconds(pid: int) -> float:
    """Return the processor time that a process and its children have used."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        children = []
    return cpu_seconds(pid) + sum(cpu_seconds(int(child)) for child in children)


def busy_seconds(core: int) -> float:
    """Return how long a core has been busy, whoever used it; 0 where there is no ``/proc``."""
    try:
        lines = Path("/proc/stat").read_text().splitlines()
    except OSError:
        return 0.0
    fields = next((line.split()[1:] for line in lines if line.startswith(f"cpu{core} ")), [])
    user, nice, system, _idle, _iowait, irq, softirq, *_ = (int(field) for field in fields or ["0"] * 7)
    return (user + nice + system + irq + softirq) / _TICKS_PER_SECOND


def memory_mb(pid: int, field: str = "Rss") -> float:
    """Return a process's resident (``Rss``) or proportional (``Pss``) memory in MB; 0 where it is not told."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    kilobytes = next((int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), 0)
    return kilobytes * 1024 / 1_000_000


def description() -> dict[str, Any]:
    """Return what a reader of the numbers wants to know of the machine."""
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "load_average_at_start": os.getloadavg(),
    }


def _processor() -> str:
    """Return the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
