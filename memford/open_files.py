"""How many files a process may hold open: each event stream is one."""

import resource
from contextlib import suppress


def raise_open_files_limit() -> tuple[int, int]:
    """Raise this process's soft limit of open files to its hard limit, and return the two as they are then.

    Children inherit it. Where the system refuses, everything stays as it was.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS calls its hard limit infinite, and takes no such number
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)
