"""The Celery application: periodic and slow work, the same in embedded and production form (P3, S4)."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memford.settings")

app = Celery("memford")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
