"""The pages of an owner's account. django-allauth's stand below /accounts/ as the contract names them (part 6)."""

from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as webauthn
from django.db.transaction import atomic
from django.urls import include, path
from django.views.decorators.cache import never_cache

from accounts import pages

urlpatterns = [
    path("", pages.home, name="home"),
    path("sign-in/<str:secret>", pages.sign_in, name="sign-in"),
    path("invitation/<str:secret>", pages.invitation, name="invitation"),
    path("accounts/", pages.account, name="account"),
    path("accounts/delete/", pages.delete_account, name="account-delete"),
    path("accounts/deleted/", pages.account_deleted, name="account-deleted"),
    path("accounts/logout/", pages.sign_out, name="account_logout"),
    path("accounts/password/reset/", pages.forgotten_password, name="account_reset_password"),
    path("accounts/sessions/end-others", pages.end_other_login_sessions, name="end-other-login-sessions"),
    path("accounts/sessions/<int:pk>/end", pages.end_login_session, name="end-login-session"),
    path("accounts/password/set/", pages.set_password, name="account_set_password"),
    # One transaction each, so that the activity log tells of it exactly where it happened (A7).
    path("accounts/2fa/totp/activate/", never_cache(atomic(totp.activate_totp)), name="mfa_activate_totp"),
    path("accounts/2fa/totp/deactivate/", atomic(totp.deactivate_totp), name="mfa_deactivate_totp"),
    path("accounts/2fa/webauthn/add/", atomic(webauthn.add_webauthn), name="mfa_add_webauthn"),
    path("accounts/2fa/webauthn/keys/<int:pk>/remove/", atomic(webauthn.remove_webauthn), name="mfa_remove_webauthn"),
    path("accounts/", include("allauth.account.urls")),
    path("accounts/2fa/", include("allauth.mfa.urls")),
    path("accounts/sessions/", include("allauth.usersessions.urls")),
]
