"""``python -m memford.cli``: the same as the ``memford`` command."""

from memford.cli import main

main()
