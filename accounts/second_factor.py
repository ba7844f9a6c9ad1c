"""What Memford decides about second factors and passkeys, where django-allauth asks (W1)."""

import base64
import hashlib
from functools import cache

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings

from accounts.models import Owner
from memford.env import env

NAME = "Memford"


class SecondFactorAdapter(DefaultMFAAdapter):
    """Names this service by its public URL, and keeps secrets encrypted in the database."""

    error_messages = {
        **DefaultMFAAdapter.error_messages,
        "incorrect_code": "This code is not right. Your app shows a new one every half minute.",
    }

    def get_totp_issuer(self) -> str:
        """Return the name that an authenticator app shows."""
        return NAME if env().is_loopback else f"{NAME} ({env().public_host})"

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        """Return whom passkeys are for: the public URL's host, whatever Host was called (G6)."""
        return {"id": env().public_host.strip("[]"), "name": NAME}

    def generate_authenticator_name(self, user: Owner, type: Authenticator.Type) -> str:  # noqa: A002  # the library's
        """Return what a new passkey is called until its owner says otherwise."""
        count = Authenticator.objects.filter(user=user, type=type).count()
        return "My passkey" if count == 0 else f"My passkey {count + 1}"

    def encrypt(self, text: str) -> str:
        """Encrypt a secret that has to be read again, so that a copy of the database alone opens nothing."""
        return _box().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Decrypt it, with a former secret key too."""
        return _box().decrypt(encrypted_text).decode()


@cache
def _box() -> MultiFernet:
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([Fernet(_derived(key)) for key in keys])


def _derived(key: str) -> bytes:
    """Return a key for this purpose alone; the secret key is random, so one hash is enough."""
    return base64.urlsafe_b64encode(hashlib.sha256(b"memford second factor\x00" + key.encode()).digest())
