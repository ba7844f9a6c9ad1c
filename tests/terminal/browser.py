"""``python -m tests.terminal.browser URL``: the person at the browser that ``memford login`` opens.

Who it is, which project they pick, and what they answer stands in the environment.
"""

import os
import sys

import django

django.setup()

from tests.flows.approving import Approver  # noqa: E402  # after the setup


def main() -> None:
    """Sign in, pick a project, and decide."""
    email, project, access, decision = (
        os.environ[f"TEST_{name}"] for name in ("EMAIL", "PROJECT", "ACCESS", "DECISION")
    )
    Approver(email, project=project, access=access, decision=decision).open(sys.argv[1])


if __name__ == "__main__":
    main()
