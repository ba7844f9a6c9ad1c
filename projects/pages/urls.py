"""The addresses of projects, notes and standards in the workspace."""

from django.urls import path

from projects.pages import activity, history, notes, projects, standards, take_along

urlpatterns = [
    path("projects", projects.projects, name="projects"),
    path("projects/<uuid:project_id>", notes.timeline, name="notes"),
    path("projects/<uuid:project_id>/notes/live", notes.live, name="notes-live"),
    path("projects/<uuid:project_id>/notes/<uuid:note_id>", history.note, name="note"),
    path("projects/<uuid:project_id>/notes/<uuid:note_id>/edit", notes.edit, name="note-edit"),
    path("projects/<uuid:project_id>/notes/<uuid:note_id>/row", notes.row, name="note-row"),
    path(
        "projects/<uuid:project_id>/notes/<uuid:note_id>/revisions/<int:revision>/restore",
        history.restore,
        name="note-restore",
    ),
    path("projects/<uuid:project_id>/standards", standards.of_project, name="project-standards"),
    path("projects/<uuid:project_id>/activity", activity.activity, name="activity"),
    path("projects/<uuid:project_id>/settings", projects.settings, name="project-settings"),
    path("projects/<uuid:project_id>/delete", projects.delete, name="project-delete"),
    path("accounts/take-along/", take_along.take_along, name="take-along"),
    path("standards", standards.shelf, name="standards"),
    path("standards/<uuid:standard_id>", standards.standard, name="standard"),
    path("standards/<uuid:standard_id>/revisions/<int:revision>/restore", standards.restore, name="standard-restore"),
]
