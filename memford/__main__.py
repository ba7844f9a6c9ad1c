"""``python -m memford`` is the ``memford`` command."""

from memford.cli import main

if __name__ == "__main__":
    main()
