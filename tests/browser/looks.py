"""How pages are looked at: light, dark, and on a phone."""

from collections.abc import Callable
from typing import Any

LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1000, "height": 800}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1000, "height": 800}},
    "phone": {"color_scheme": "dark", "viewport": {"width": 340, "height": 700}},
}

Look = Callable[[Any], None]
