"""The pages of an owner's account. django-allauth's stand below /accounts/ as the contract names them (part 6)."""

from django.urls import include, path

from accounts import pages

urlpatterns = [
    path("", pages.home, name="home"),
    path("sign-in/<str:secret>", pages.sign_in, name="sign-in"),
    path("invitation/<str:secret>", pages.invitation, name="invitation"),
    path("accounts/", pages.account, name="account"),
    path("accounts/sessions/end-others", pages.end_other_login_sessions, name="end-other-login-sessions"),
    path("accounts/sessions/<int:pk>/end", pages.end_login_session, name="end-login-session"),
    path("accounts/", include("allauth.account.urls")),
    path("accounts/2fa/", include("allauth.mfa.urls")),
    path("accounts/sessions/", include("allauth.usersessions.urls")),
]
