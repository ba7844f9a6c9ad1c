"""``memford invite``: a link by which one person may sign up (W1)."""

import os
import sys
from pathlib import Path

from memford.cli.bootstrap import environment_of


def run(data_dir: Path | None) -> None:
    """Print a fresh invitation link; it is shown here and never again.

    Raises:
        EmbeddedError: Nothing runs on the data directory.
    """
    os.environ.update(environment_of(data_dir))
    import django

    django.setup()
    from accounts.services import issue_invitation

    sys.stdout.write(f"{issue_invitation()}\n")
