"""Which tests prove which rule of the contract, and which rules are not delivered yet.

``PROVED`` maps a rule to tests, each ``folder/file.py::name`` below ``tests/`` (a class's test as ``Class.name``), or a
whole file. ``PARTLY`` says what of a proved rule is still open. ``OPEN`` names what is not delivered.
"""

from typing import Final

OAUTH: Final = "mcp_gateway/authorization"
ADMISSION: Final = "mcp_gateway/test_admission.py"
MESSAGES: Final = "mcp_gateway/test_messages.py"
REVISIONS: Final = "mcp_gateway/test_revisions.py"
TOOLS: Final = "mcp_gateway/test_tools.py"
CONNECTIONS: Final = "mcp_gateway/test_connections.py"
SESSIONS: Final = "mcp_gateway/test_sessions.py"
STREAMS: Final = "mcp_gateway/test_streams.py"
INSTANCES: Final = "sessions/test_two_instances.py"
NO_HINT_LOST: Final = "sessions/test_no_hint_is_lost.py"
API: Final = "api/test_routes.py"
SERVICES: Final = "projects/test_services.py"
SIGN_UP: Final = "accounts/test_sign_up.py"
SIGN_IN: Final = "accounts/test_sign_in.py"

PROVED: Final[dict[str, list[str]]] = {
    "G1": [
        f"{ADMISSION}::test_both_forms_of_the_address_answer_without_a_redirect",
        f"{ADMISSION}::test_another_method_is_refused_at_once_without_a_credential",
    ],
    "G2": [
        REVISIONS,
        f"{SESSIONS}::test_the_sessions_own_revision_governs",
        f"{SESSIONS}::test_an_unsupported_header_is_refused_within_a_session_too",
        "flows/test_python_sdk.py",
        "flows/test_typescript_sdk.py",
    ],
    "G3": [
        f"{MESSAGES}::test_what_is_no_message_is_answered_with_400_and_an_error",
        f"{MESSAGES}::test_every_good_id_comes_back_as_it_was",
        f"{MESSAGES}::test_notifications_and_responses_are_accepted_with_nothing_to_say",
        f"{MESSAGES}::test_a_batch_is_served_in_its_order_under_2025_03_26",
        f"{MESSAGES}::test_later_revisions_have_no_batches",
        f"{MESSAGES}::test_a_bad_batch_is_refused_as_a_whole",
        f"{MESSAGES}::test_one_missing_scope_stops_a_whole_batch_before_it_begins",
        f"{MESSAGES}::test_no_input_of_any_kind_is_our_failure",
        f"{MESSAGES}::test_no_bytes_are_our_failure",
    ],
    "G4": [
        f"{MESSAGES}::test_a_client_that_takes_json_gets_json",
        f"{MESSAGES}::test_a_client_that_takes_events_alone_gets_one_event",
        f"{REVISIONS}::test_get_needs_a_client_that_takes_events",
        f"{REVISIONS}::test_get_and_delete_need_a_session",
        f"{STREAMS}::test_a_stream_speaks_at_once_and_says_when_to_come_again",
    ],
    "G5": [
        f"{ADMISSION}::test_a_host_that_is_not_configured_is_misdirected",
        f"{ADMISSION}::test_a_page_of_an_origin_that_is_not_listed_is_refused_before_its_credential",
        f"{ADMISSION}::test_a_listed_page_may_call_and_read_the_answer",
        f"{ADMISSION}::test_preflight_needs_no_credential_and_allows_what_clients_send",
    ],
    "G6": [
        f"{OAUTH}/test_metadata.py::test_the_servers_metadata_say_what_works",
        f"{ADMISSION}::test_forged_forwarding_headers_change_nothing_that_is_printed",
        f"{REVISIONS}::test_the_handshake_says_what_is_there_and_nothing_else",
        "accounts/test_passwords.py::test_a_forged_host_is_in_no_mail",
        "accounts/test_client.py",
    ],
    "G7": [
        f"{OAUTH}/test_revocation.py",
        f"{OAUTH}/test_token.py::test_a_token_for_another_audience_is_not_taken",
        f"{ADMISSION}::test_a_bad_credential_is_told_so",
        f"{ADMISSION}::test_two_credentials_are_one_too_many",
        f"{ADMISSION}::test_a_key_in_the_address_or_in_the_body_is_no_credential",
        f"{ADMISSION}::test_a_revoked_key_fails_on_the_next_call",
        f"{STREAMS}::TestEnds.test_revoking_ends_it_within_the_change_check",
        f"{STREAMS}::TestEnds.test_deleting_the_project_ends_it",
        f"{ADMISSION}::test_an_expired_key_fails",
        f"{ADMISSION}::test_a_reading_connection_may_not_write_and_hears_both_scopes",
        "memford/test_health.py::test_a_missing_cache_is_degraded_and_a_missing_database_is_down",
        "flows/test_crashes.py",
    ],
    "G8": [
        f"{ADMISSION}::test_size_is_refused_before_the_credential_is_looked_at",
        f"{ADMISSION}::test_a_credential_is_asked_before_the_body_is_read_as_json",
    ],
    "G9": [SESSIONS, INSTANCES, f"{REVISIONS}::test_a_session_that_is_not_here_is_not_found"],
    "G10": [f"{MESSAGES}::test_concurrent_calls_with_one_id_each_get_their_own_answer"],
    "G11": [
        f"{REVISIONS}::test_the_handshake_says_what_is_there_and_nothing_else",
        f"{REVISIONS}::test_the_icon_that_is_named_is_there",
    ],
    "G12": [
        f"{REVISIONS}::TestStateless.test_discovery_lists_all_four_and_what_is_there",
        f"{REVISIONS}::TestStateless.test_headers_must_mirror_the_body",
        f"{REVISIONS}::TestStateless.test_an_unknown_revision_is_told_all_four",
        f"{REVISIONS}::TestStateless.test_a_missing_key_of_the_envelope_is_named",
        f"{REVISIONS}::TestStateless.test_an_unknown_method_is_not_found",
        f"{REVISIONS}::TestStateless.test_answers_that_could_be_kept_say_that_they_are_private_and_stale",
        f"{REVISIONS}::TestStateless.test_there_is_no_get_and_no_delete",
        f"{REVISIONS}::TestStateless.test_a_posted_response_is_refused_and_a_notification_accepted",
        f"{REVISIONS}::TestStateless.test_a_session_id_means_nothing",
    ],
    "T1": [
        f"{TOOLS}::TestListProjects.test_only_the_connections_own_project_is_listed",
        f"{TOOLS}::TestListProjects.test_an_offset_beyond_it_finds_nothing_more",
    ],
    "T2": [
        f"{TOOLS}::TestRead.test_inactive_and_deleted_notes_are_counted_but_not_read",
        f"{TOOLS}::TestSchemas.test_real_results_fit_their_schema",
    ],
    "T3": [
        f"{TOOLS}::TestRead.test_pages_go_from_new_to_old_and_inside_a_page_from_old_to_new",
        f"{TOOLS}::TestRead.test_a_note_is_shown_as_it_now_reads",
        "isolation/test_agents.py::test_two_agents_of_one_project_share_it_and_are_told_apart",
    ],
    "T4": [f"{TOOLS}::TestRead.test_standards_come_complete_on_every_page_in_the_owners_order"],
    "T5": [
        f"{TOOLS}::TestRead.test_new_notes_do_not_disturb_a_reader",
        f"{TOOLS}::TestRead.test_any_other_change_tells_a_reader_to_begin_again",
        f"{TOOLS}::TestRead.test_restoring_tells_a_reader_to_begin_again",
        f"{TOOLS}::TestRead.test_a_cursor_that_is_not_ours_is_refused",
        f"{TOOLS}::test_cursors_of_an_older_signing_key_stay_good",
        "flows/test_paging_properties.py",
    ],
    "T6": [
        f"{TOOLS}::TestWrite.test_the_receipt_tells_what_was_received_and_who_wrote",
        f"{TOOLS}::TestWrite.test_a_retry_undoes_nothing_that_the_owner_did",
    ],
    "T7": [
        f"{TOOLS}::TestWrite.test_a_repeated_checkpoint_returns_the_first_receipt_byte_for_byte",
        f"{TOOLS}::TestWrite.test_a_checkpoint_with_other_text_is_a_conflict",
        f"{TOOLS}::TestWrite.test_another_connections_checkpoint_is_unrelated",
        f"{TOOLS}::TestWrite.test_a_retry_undoes_nothing_that_the_owner_did",
        "flows/test_concurrent_writes.py",
        "flows/test_crashes.py",
    ],
    "T8": [
        "isolation/test_agents.py::test_foreign_deleted_misspelt_and_another_connections_projects_answer_alike",
        "isolation/test_agents.py::test_what_one_writes_no_other_reads",
    ],
    "T9": [
        f"{TOOLS}::TestRead.test_every_accepted_change_raises_its_revision_by_one",
        "flows/test_concurrent_writes.py",
    ],
    "T10": [
        f"{TOOLS}::TestArguments.test_the_field_is_named",
        f"{TOOLS}::TestWrite.test_text_comes_back_exactly",
        "flows/test_paging_properties.py",
    ],
    "T11": [f"{ADMISSION}::test_a_reading_connection_may_not_write_and_hears_both_scopes"],
    "R1": ["mcp_gateway/test_resources.py"],
    "R2": [
        f"{SESSIONS}::test_subscribing_needs_a_session_and_its_own_notes",
        f"{STREAMS}::test_a_change_gives_a_hint_without_content",
        f"{STREAMS}::test_changes_within_one_tick_give_one_hint",
        f"{STREAMS}::test_no_hint_without_a_subscription_nor_after_it_ended",
        f"{STREAMS}::TestEnds.test_delete_ends_the_stream",
    ],
    "R3": [
        NO_HINT_LOST,
        f"{STREAMS}::TestAttachment.test_a_change_since_the_read_is_told",
        f"{STREAMS}::TestAttachment.test_having_read_nothing_is_told_too",
        f"{STREAMS}::TestAttachment.test_what_the_last_event_told_counts_as_seen",
        f"{STREAMS}::TestAttachment.test_any_other_last_event_is_ignored",
        f"{STREAMS}::TestEnds.test_a_newer_get_takes_over",
        f"{STREAMS}::test_streams_say_different_times_to_come_again",
        f"{INSTANCES}::test_a_stream_is_taken_over_from_the_other_instance",
    ],
    "R4": [
        f"{STREAMS}::TestListening.test_it_is_acknowledged_hinted_and_kept",
        f"{STREAMS}::TestListening.test_a_foreign_address_is_neither_acknowledged_nor_delivered",
        f"{STREAMS}::TestListening.test_it_outlives_the_life_of_a_sessions_stream",
    ],
    "R5": [INSTANCES, "mcp_gateway/test_statements.py::test_the_change_feed_asks_once_for_all_that_it_watches"],
    "O1": [f"{OAUTH}/test_metadata.py"],
    "O2": [
        f"{OAUTH}/test_metadata.py::test_pages_of_any_origin_may_call_and_no_cookie_is_taken",
        f"{OAUTH}/test_token.py::test_what_cannot_be_read_is_refused_in_json",
    ],
    "O3": [
        f"{OAUTH}/test_registration.py",
        f"{OAUTH}/test_authorize.py::TestRefusals.test_nobody_is_sent_to_an_address_that_is_not_registered",
        f"{OAUTH}/test_documents.py",
    ],
    "O4": [
        f"{OAUTH}/test_token.py",
        f"{OAUTH}/test_authorize.py::TestAudience.test_every_form_of_it_is_taken",
        f"{OAUTH}/test_authorize.py::TestAudience.test_anything_else_is_not",
        f"{OAUTH}/test_authorize.py::TestRefusals.test_the_client_hears_what_is_wrong_with_its_state_and_the_issuer",
    ],
    "O5": [f"{OAUTH}/test_authorize.py", "browser/test_consent.py"],
    "O6": [f"{OAUTH}/test_authorize.py::TestScopes.test_what_is_asked_is_what_can_be_granted"],
    "O7": [
        f"{OAUTH}/test_rotation.py",
        "flows/test_oauth_python_sdk.py",
        "flows/test_oauth_typescript_sdk.py",
        "flows/test_oauth_without_database.py",
    ],
    "O8": [f"{OAUTH}/test_revocation.py"],
    "O10": [f"{OAUTH}/test_cleaning.py", f"{OAUTH}/test_token.py::TestClients.test_a_forgotten_client_is_told_so"],
    "O9": [
        f"{OAUTH}/test_token.py::test_the_database_holds_digests_alone",
        f"{OAUTH}/test_registration.py::test_a_confidential_client_gets_a_secret_that_is_kept_as_a_digest",
        f"{CONNECTIONS}::test_the_secret_is_returned_once_and_never_stored_or_shown",
        "accounts/test_sign_in_link.py::test_only_its_digest_is_stored",
        f"{SIGN_UP}::TestInvitation.test_it_ends_and_only_its_digest_is_stored",
    ],
    "A1": [
        f"{API}::TestNotes.test_a_note_is_written_edited_and_restored",
        f"{API}::TestNotes.test_lists_page_and_filter",
        "isolation/test_owner_api.py",
        "api/test_bounds.py",
        "api/test_description.py",
        f"{API}::TestDoor.test_a_change_needs_the_public_origin",
        "api/test_archives.py",
        f"{API}::TestDoor.test_no_credential_of_an_agent_opens_it",
    ],
    "A5": [f"{API}::TestAccess.test_a_key_is_shown_once_and_revoked_at_once"],
    "A6": [f"{API}::TestAccess.test_a_connection_is_seen_and_disconnected"],
    "A2": [
        f"{API}::TestNotes.test_a_stale_edit_is_told_the_current_revision",
        "api/test_bounds.py::test_of_two_patches_with_one_revision_one_is_taken_a_hundred_times_over",
        f"{SERVICES}::TestNotes.test_every_change_is_a_revision_and_the_submission_is_the_first",
    ],
    "A3": [
        f"{API}::TestStandards.test_a_standard_is_shelved_edited_and_assigned",
        f"{SERVICES}::TestStandards.test_every_change_is_a_revision",
    ],
    "A4": [
        f"{API}::TestStandards.test_a_standard_is_shelved_edited_and_assigned",
        f"{SERVICES}::TestStandards.test_the_order_is_the_owners_and_a_stale_assignment_changes_nothing",
    ],
    "A7": [
        f"{API}::TestAccess.test_the_activity_tells_of_it_all_without_content",
        f"{OAUTH}/test_authorize.py::test_approving_makes_a_connection_and_returns_a_code",
        f"{SERVICES}::test_the_activity_log_tells_who_did_what_without_content",
        f"{SERVICES}::test_a_refused_act_leaves_no_line",
        f"{SIGN_IN}::test_the_right_password_signs_in_and_is_written_down",
        "accounts/test_second_factor.py::test_it_is_removed_and_said_so",
    ],
    "A8": [
        f"{API}::TestProjects.test_deleting_ends_its_agents",
        f"{SERVICES}::TestProjects.test_a_deleted_project_is_gone_and_can_be_restored",
        "projects/test_erasure.py",
    ],
    "W1": [
        SIGN_UP,
        SIGN_IN,
        "accounts/test_passwords.py",
        "accounts/test_second_factor.py",
        "accounts/test_malformed.py",
        "accounts/test_closing.py",
        "projects/archive/test_export.py",
        "projects/archive/test_import.py",
        "projects/archive/test_round_trip.py",
        "projects/archive/test_documented.py",
        "projects/archive/test_account_export.py",
        "pages/test_account.py",
        "browser/test_accounts.py",
        "browser/test_account_pages.py",
    ],
    "W2": [
        "pages/test_notes.py",
        "pages/test_standards.py",
        "pages/test_connections.py",
        "pages/test_activity.py",
        "pages/test_docs.py",
        "pages/test_times.py",
        "pages/test_every_page.py",
        "memford/test_differences.py",
        "browser/test_notes.py",
        "browser/test_standards.py",
        "browser/test_access.py",
    ],
    "W3": [
        "pages/test_notes.py::TestSignedOut.test_what_was_typed_is_shown_again_to_be_sent",
        "pages/test_notes.py::TestSignedOut.test_after_signing_in_elsewhere_the_old_page_still_sends",
        "pages/test_notes.py::TestEditing.test_a_lost_race_shows_both_texts_and_three_ways_on",
        "pages/test_notes.py::TestEditing.test_of_parallel_edits_one_is_stored_and_the_others_are_shown",
        "pages/test_notes.py::TestEditing.test_a_text_that_nobody_changed_stays_to_the_byte",
        "browser/test_notes.py::TestWithScript.test_a_conflict_leaves_three_ways",
        "browser/test_notes.py::TestWithScript.test_nothing_is_lost_while_the_network_is_away",
        "browser/test_notes.py::TestWithScript.test_nothing_is_lost_by_signing_out_elsewhere",
        "browser/test_notes.py::TestByKeyboard.test_writing_editing_and_deleting",
        "browser/test_notes.py::TestWithoutScript.test_everything_can_be_done",
        "browser/test_notes.py::test_the_pages_look_right",
    ],
    "W4": [
        "pages/test_every_page.py::test_it_is_shown_under_a_strict_policy",
        "pages/test_notes.py::TestLookingThrough.test_found_words_are_marked_and_all_else_is_escaped",
        f"{OAUTH}/test_authorize.py::test_the_page_says_who_asks_for_what_and_where_it_leads",
        "accounts/test_sign_in_link.py::test_pages_are_locked_down",
        f"{SIGN_IN}::test_one_goes_on_to_our_own_origin_alone",
        "browser/test_looks.py",
        "browser/test_consent.py",
    ],
    "C1": ["terminal/test_login.py", "terminal/test_plugin.py"],
    "C2": [
        "terminal/test_writing.py",
        "terminal/test_writing.py::test_killed_at_any_moment_nothing_is_lost_and_nothing_doubled",
        "terminal/test_writing.py::TestPending.test_under_another_connection_it_is_looked_for_and_never_sent_unasked",
    ],
    "C3": [
        "terminal/test_bridge.py",
        "terminal/test_login.py::TestReadingAndChecking.test_each_problem_has_one_thing_to_do",
    ],
    "C4": [
        "terminal/test_login.py::test_what_is_stored_is_the_users_alone",
        "terminal/test_login.py::test_a_keyring_is_used_where_there_is_one",
        "terminal/test_login.py::TestStayingSignedIn.test_of_many_processes_one_renews",
    ],
    "P2": ["memford/test_health.py::test_alive_and_ready", "accounts/test_quiet_logs.py"],
    "P4": [
        "memford/test_environment.py::test_a_missing_setting_is_named_and_no_secret_is_printed",
        "memford/test_environment.py::test_unsafe_settings_are_refused_for_deployment",
        "memford/test_cache.py",
    ],
    "S1": ["embedded/test_up.py", "embedded/test_state.py", "accounts/test_sign_in_link.py", "test_readme.py"],
    "S2": [f"{CONNECTIONS}::TestBootstrap.test_its_own_oldest_beyond_five_end_and_no_other", "embedded/test_up.py"],
    "P3": [
        "mcp_gateway/test_session_removal.py",
        f"{OAUTH}/test_cleaning.py",
        "accounts/test_removal.py",
        "accounts/test_closing.py",
        "projects/test_erasure.py",
        "memford/test_periodic_work.py",
    ],
    "S3": ["contract/test_manifest.py::test_the_makefile_has_what_the_contract_names"],
}

PARTLY: Final[dict[str, str]] = {
    "G8": "call limits come with the issue on operations",
    "O3": "the limit of registrations comes with the issue on operations",
    "P2": "/healthz and /readyz; metrics come later",
    "P4": "settings; call limits and their fallback come later",
}

OPEN: Final[dict[str, str]] = {
    "P1": "operators",
    "S4": "operators",
}
