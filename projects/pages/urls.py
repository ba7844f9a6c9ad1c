"""The addresses of projects, notes and standards in the workspace."""

from django.urls import path

from projects.pages import activity, history, notes, projects, standards, take_along

urlpatterns = [
    path("projects", projects.projects, name="projects"),
    # A form's own address: where sending it fails, a browser goes back to the page with all that was typed.
    path("projects/new", projects.new, name="project-new"),
    path("projects/<uuid:project_id>", notes.timeline, name="notes"),
    path("projects/<uuid:project_id>/notes", notes.write, name="note-write"),
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
    path("projects/<uuid:project_id>/activity/live", activity.activity_live, name="activity-live"),
    path("projects/<uuid:project_id>/settings", projects.settings, name="project-settings"),
    path("projects/<uuid:project_id>/settings/change", projects.change, name="project-change"),
    path("projects/<uuid:project_id>/delete", projects.delete, name="project-delete"),
    path("accounts/take-along/", take_along.take_along, name="take-along"),
    path("standards", standards.shelf, name="standards"),
    path("standards/new", standards.new, name="standard-new"),
    path("standards/<uuid:standard_id>", standards.standard, name="standard"),
    path("standards/<uuid:standard_id>/edit", standards.edit, name="standard-edit"),
    path("standards/<uuid:standard_id>/revisions/<int:revision>/restore", standards.restore, name="standard-restore"),
    path("activity", activity.account_activity, name="account-activity"),
    path("activity/live", activity.account_activity_live, name="account-activity-live"),
]
