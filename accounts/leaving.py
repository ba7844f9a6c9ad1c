"""What a browser is told when its owner leaves, so that Back shows nothing of what was on the screen (W1)."""

from typing import Final

from django.http import HttpResponseBase

# Browsers heed it where the address is https or on this machine, and forget the pages that they keep to go back to.
_FORGET: Final = '"cache"'


def forgetting[ResponseT: HttpResponseBase](response: ResponseT) -> ResponseT:
    """Let a browser forget the pages it keeps; its cookies and what other tabs hold stay."""
    response["Clear-Site-Data"] = _FORGET
    return response
