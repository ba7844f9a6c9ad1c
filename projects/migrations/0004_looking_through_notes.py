"""Indexes for looking through very many notes: by their words, and by their writer."""

from django.conf import settings
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

# What projects/selectors/timeline.py asks for, word by word.
_WORDS = """
CREATE INDEX CONCURRENTLY note_words ON projects_note USING gin (
    (to_tsvector('simple'::regconfig, coalesce(source, '') || ' ' || content)
     || array_to_tsvector(ARRAY[project_id::text])))
"""
_NO_WORDS = "DROP INDEX CONCURRENTLY IF EXISTS note_words"


class Migration(migrations.Migration):
    # Built beside running writes, which no transaction can hold.
    atomic = False

    dependencies = [
        ("projects", "0003_erasure_of_deleted_projects"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        # A large table takes longer than a request may; the session has its limit back afterwards.
        migrations.RunSQL("SET statement_timeout = 0", "RESET statement_timeout"),
        # An index that was left half built is made anew.
        migrations.RunSQL(_NO_WORDS, migrations.RunSQL.noop),
        migrations.RunSQL(_WORDS, _NO_WORDS),
        AddIndexConcurrently(
            model_name="note",
            index=models.Index(fields=["owner", "project", "writer_id", "-seq"], name="note_by_writer"),
        ),
        migrations.RunSQL("RESET statement_timeout", "SET statement_timeout = 0"),
    ]
