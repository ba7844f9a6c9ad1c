"""Whose address counts (G6)."""

import pytest
from django.test import RequestFactory

from accounts.client import NOWHERE, client_ip
from memford.env import env

FORGED = {"X-Forwarded-For": "198.51.100.1", "X-Real-IP": "198.51.100.2", "Forwarded": "for=198.51.100.3"}


def test_no_header_is_believed_unless_it_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    request = RequestFactory().get("/", headers=FORGED, REMOTE_ADDR="203.0.113.9")
    assert client_ip(request) == "203.0.113.9"
    monkeypatch.setattr(env(), "client_ip_header", "X-Real-IP")
    assert client_ip(request) == "198.51.100.2"
    nonsense = RequestFactory().get("/", headers={"X-Real-IP": "x"}, REMOTE_ADDR="203.0.113.9")
    assert client_ip(nonsense) == "203.0.113.9"


def test_a_peer_without_an_address_is_one_peer() -> None:
    request = RequestFactory().get("/")
    request.META["REMOTE_ADDR"] = ""
    assert client_ip(request) == NOWHERE
