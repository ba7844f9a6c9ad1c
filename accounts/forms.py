"""The library's forms in our words, and hardened against what no browser sends."""

import json
from typing import Any

from allauth.account import forms as account
from allauth.account.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    EditWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from django.core.exceptions import ValidationError

from memford.core.text import unstorable

LABELS = {
    "login": "E-mail address",
    "email": "E-mail address",
    "password": "Password",
    "oldpassword": "Current password",
    "password1": "New password",
    "password2": "New password, once more",
    "code": "Code",
    "recipient": "Send it to",
}
KNOWN = {"password", "oldpassword"}
RULED = {"password1"}
ADVICE = "At least 8 characters; no common word, not a number alone, and not like your address."
PASSKEY_NAME_MAX_CHARS = 100
CREDENTIAL_MAX_CHARS = 65_536
# What the library's parser meets in a credential that is none; it knows two of them.
NO_CREDENTIAL = (
    ArithmeticError,
    AttributeError,
    InvalidSignature,
    LookupError,
    TypeError,
    UnsupportedAlgorithm,
    ValueError,
)


class Worded:
    """A form with our labels, which say what a placeholder would say and stay when one types."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():  # type: ignore[attr-defined]
            field.label = LABELS.get(name, field.label)
            field.widget.attrs.pop("placeholder", None)
            if name in RULED or name in KNOWN:
                field.help_text = ADVICE if name in RULED else ""


class SignInForm(Worded, account.LoginForm):
    """E-mail address and password (part 6)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].widget.attrs["autocomplete"] = "username"


class SignUpForm(Worded, account.SignupForm):
    """E-mail address and a password."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password1"].label = LABELS["password"]


class EmailForm(Worded, account.AddEmailForm):
    """The new address of an owner."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].label = "New address"


class EmailCodeForm(Worded, account.ConfirmEmailVerificationCodeForm):
    """The code of a mail, which shows that an address is one's own."""


class AskCodeForm(Worded, account.RequestReauthenticationCodeForm):
    """Where to send a code that shows who is there."""


class AgainCodeForm(Worded, account.ConfirmReauthenticationCodeForm):
    """The code of a mail, which shows who is there."""


class AgainForm(Worded, account.ReauthenticateForm):
    """The password once more."""


class ForgottenForm(Worded, account.ResetPasswordForm):
    """Where to send the link for a new password."""


class NewPasswordForm(Worded, account.ResetPasswordKeyForm):
    """A new password in place of a forgotten one."""


class ChangePasswordForm(Worded, account.ChangePasswordForm):
    """A new password in place of a known one."""


class SetPasswordForm(Worded, account.SetPasswordForm):
    """The first password of an owner who came by a link."""


class AppForm(Worded, ActivateTOTPForm):
    """The first code of a new authenticator app."""


class FactorForm(Worded, AuthenticateForm):
    """A code of the app, or a recovery code."""


class FactorAgainForm(Worded, ReauthenticateForm):
    """The same of somebody who is signed in, before a change that matters."""


class Guarded:
    """A form that takes a browser's credential, and calls anything else wrong instead of failing over it."""

    def clean(self) -> Any:
        """Check the credential as a whole, where it is made."""
        try:
            return super().clean()  # type: ignore[misc]
        except NO_CREDENTIAL:
            raise get_adapter().validation_error("incorrect_code") from None

    def clean_credential(self) -> Any:
        """Check its form, and then the credential itself, where it is used."""
        credential = self.cleaned_data["credential"]  # type: ignore[attr-defined]
        text = json.dumps(credential, ensure_ascii=False)
        if not isinstance(credential, dict) or len(text) > CREDENTIAL_MAX_CHARS or _hides_unstorable(credential):
            raise get_adapter().validation_error("incorrect_code")
        parent = getattr(super(), "clean_credential", None)
        try:
            return parent() if parent else credential
        except NO_CREDENTIAL:
            raise get_adapter().validation_error("incorrect_code") from None


class AddPasskeyForm(Guarded, AddWebAuthnForm):
    """A new passkey, or a key that is a second factor only."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].max_length = PASSKEY_NAME_MAX_CHARS
        self.fields["name"].widget.attrs["maxlength"] = PASSKEY_NAME_MAX_CHARS
        self.fields["name"].help_text = "What you call it, such as the device it lives on."
        passwordless = self.fields["passwordless"]
        passwordless.label = "Sign in with it alone, without a password"
        passwordless.help_text = "It asks for your face, finger or PIN. Without this it is a second factor only."
        passwordless.initial = True

    def clean_name(self) -> str:
        """Cut a name to its length."""
        name: str = super().clean_name()
        return name[:PASSKEY_NAME_MAX_CHARS]


class RenamePasskeyForm(EditWebAuthnForm):
    """Another name for a passkey."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].widget.attrs["maxlength"] = PASSKEY_NAME_MAX_CHARS

    def clean_name(self) -> str:
        """Refuse a name that is too long to read."""
        name: str = self.cleaned_data["name"]
        if len(name) > PASSKEY_NAME_MAX_CHARS:
            raise ValidationError(f"At most {PASSKEY_NAME_MAX_CHARS} characters.")
        return name


class PasskeySignInForm(Guarded, LoginWebAuthnForm):
    """Sign-in by a passkey alone."""


class PasskeyFactorForm(Guarded, AuthenticateWebAuthnForm):
    """A passkey or key as the second factor."""


class PasskeyAgainForm(Guarded, ReauthenticateWebAuthnForm):
    """A passkey or key of somebody who is signed in, before a change that matters."""


def _hides_unstorable(value: Any) -> bool:
    """Return whether any text inside cannot be stored."""
    if isinstance(value, dict):
        return any(_hides_unstorable(part) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return any(_hides_unstorable(part) for part in value)
    return isinstance(value, str) and unstorable(value) is not None
