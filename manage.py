#!/usr/bin/env python
"""Django's command line, for those who run Memford on stores of their own."""

import os
import sys


def main() -> None:
    """Run one of Django's commands with Memford's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memford.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
