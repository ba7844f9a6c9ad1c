"""The pages of an owner's account."""

from django.urls import path

from accounts import pages

urlpatterns = [
    path("", pages.home, name="home"),
    path("sign-in/<str:secret>", pages.sign_in, name="sign-in"),
]
