"""How often one may try to sign in, sign up or ask for mail, in the words of django-allauth."""

from typing import Final

# Per address (``ip``), per signed-in owner (``user``), and per e-mail address (``key``).
LIMITS: Final = {
    "change_password": "5/m/user",
    "manage_email": "10/m/user",
    "reset_password": "20/m/ip,5/m/key",
    "reauthenticate": "10/m/user",
    "reset_password_from_key": "20/m/ip",
    "signup": "20/m/ip",
    "login": "30/m/ip",
    "request_login_code": "20/m/ip,3/m/key",
    "login_failed": "10/m/ip,5/5m/key",
    "confirm_email": "1/10s/key",
}


def sign_in_limits(in_force: bool, *, per_ip: bool) -> dict[str, str] | bool:
    """Return the limits in force; without those per address where the public URL is loopback (part 1)."""
    if not in_force:
        return False
    return {action: ",".join(_kept(rates, per_ip)) for action, rates in LIMITS.items()}


def _kept(rates: str, per_ip: bool) -> list[str]:
    return [rate for rate in rates.split(",") if per_ip or not rate.endswith("/ip")]
