"""The owner's API over what is remembered."""

from django.urls import path

from projects.api import archives, projects, standards

urlpatterns = [
    path("projects", projects.Projects.as_view()),
    path("projects/import", archives.ProjectImport.as_view()),
    path("projects/<str:project_id>", projects.OneProject.as_view()),
    path("projects/<str:project_id>/notes", projects.Notes.as_view()),
    path("projects/<str:project_id>/notes/<str:note_id>", projects.OneNote.as_view()),
    path("projects/<str:project_id>/notes/<str:note_id>/revisions", projects.NoteRevisions.as_view()),
    path("projects/<str:project_id>/standards", projects.ProjectStandards.as_view()),
    path("projects/<str:project_id>/activity", projects.ProjectActivity.as_view()),
    path("projects/<str:project_id>/export", archives.ProjectExport.as_view()),
    path("standards", standards.Standards.as_view()),
    path("standards/<str:standard_id>", standards.OneStandard.as_view()),
    path("standards/<str:standard_id>/revisions", standards.StandardRevisions.as_view()),
]
