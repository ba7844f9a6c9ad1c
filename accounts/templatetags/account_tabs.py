"""Which of the account's pages one is on."""

from typing import Any, Final

from django import template

register = template.Library()

# By the names of the addresses, most of which are django-allauth's.
_TABS: Final = {
    "account": "overview",
    "account_email": "email",
    "account_change_password": "password",
    "account_set_password": "password",
    "mfa_index": "second-factor",
    "mfa_activate_totp": "second-factor",
    "mfa_deactivate_totp": "second-factor",
    "mfa_view_recovery_codes": "second-factor",
    "mfa_generate_recovery_codes": "second-factor",
    "mfa_list_webauthn": "passkeys",
    "mfa_add_webauthn": "passkeys",
    "mfa_edit_webauthn": "passkeys",
    "mfa_remove_webauthn": "passkeys",
    "usersessions_list": "sessions",
    "take-along": "take-along",
    "account-delete": "delete",
}


@register.simple_tag(takes_context=True)
def account_tab(context: Any) -> str:
    """Return the tab that the page belongs to, or nothing for a page between others."""
    match = getattr(context.get("request"), "resolver_match", None)
    return _TABS.get(match.url_name, "") if match else ""
