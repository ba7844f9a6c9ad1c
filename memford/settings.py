"""Django's settings, every value from :mod:`memford.env`."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.utils.csp import CSP

from memford.core.logs import logging_config
from memford.core.mail import mailer_of
from memford.core.sign_in_limits import sign_in_limits
from memford.env import env

BASE_DIR = Path(__file__).resolve().parent.parent
_env = env()

SECRET_KEY = _env.secret_key.get_secret_value()
SECRET_KEY_FALLBACKS = [key.get_secret_value() for key in _env.secret_key_fallbacks]
DEBUG = _env.debug
PUBLIC_URL = _env.public_url
ALLOWED_HOSTS = _env.hosts
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "memford",
    "accounts",
    "projects",
    "mcp_gateway.connections",
    "mcp_gateway.authorization",
    "mcp_gateway.transport",
    "oauth2_provider",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "memford.core.timezones.BrowserTimezone",
    "memford.core.caching.PrivateUnlessSaid",
]

ROOT_URLCONF = "memford.urls"
ASGI_APPLICATION = "memford.asgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.csp",
                "projects.pages.navigation.navigation",
            ]
        },
    }
]


def _database(url: str, role: str) -> dict[str, Any]:
    """Read a PostgreSQL URL into Django's form; ``role`` names the database connection for operators."""
    parts = urlsplit(url)
    milliseconds = {
        "statement_timeout": _env.statement_timeout_seconds,
        "lock_timeout": _env.lock_timeout_seconds,
        "idle_in_transaction_session_timeout": _env.statement_timeout_seconds,
    }
    options = " ".join(f"-c {name}={int(seconds * 1000)}" for name, seconds in milliseconds.items())
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "DISABLE_SERVER_SIDE_CURSORS": True,
        "OPTIONS": {
            "application_name": f"memford-{role}",
            "connect_timeout": _env.connect_timeout_seconds,
            "options": options,
            # Parameters travel beside the statement, and a statement used often is planned once.
            "server_side_binding": True,
            "prepare_threshold": _env.prepare_threshold,
            **dict(parse_qsl(parts.query)),
        },
    }


_app_url = _env.database_url.get_secret_value()
_system_url = (_env.system_database_url or _env.database_url).get_secret_value()
DATABASES = {"default": _database(_app_url, "app"), "system": _database(_system_url, "system")}
DATABASE_ROUTERS = ["memford.core.database.MigrationsAsSystem"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "accounts.Owner"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

# Sign-up, sign-in, second factor and login sessions (W1): django-allauth, with our decisions in accounts/adapter.py.
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_PREVENT_ENUMERATION = True
# A code is typed into the browser that asked for it, so what was interrupted there resumes there (O5).
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_ENABLED = True
ACCOUNT_EMAIL_VERIFICATION_SUPPORTS_RESEND = True
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_LOGIN_ON_PASSWORD_RESET = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_REAUTHENTICATION_METHODS = {"password", "code", "mfa", "sign_in_link"}
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_RATE_LIMITS = sign_in_limits(_env.rate_limits == "on", per_ip=not _env.is_loopback)
ACCOUNT_FORMS = {
    "add_email": "accounts.forms.EmailForm",
    "change_password": "accounts.forms.ChangePasswordForm",
    "confirm_email_verification_code": "accounts.forms.EmailCodeForm",
    "confirm_reauthentication_code": "accounts.forms.AgainCodeForm",
    "login": "accounts.forms.SignInForm",
    "reauthenticate": "accounts.forms.AgainForm",
    "request_reauthentication_code": "accounts.forms.AskCodeForm",
    "reset_password": "accounts.forms.ForgottenForm",
    "reset_password_from_key": "accounts.forms.NewPasswordForm",
    "set_password": "accounts.forms.SetPasswordForm",
    "signup": "accounts.forms.SignUpForm",
}
MFA_FORMS = {
    "activate_totp": "accounts.forms.AppForm",
    "authenticate": "accounts.forms.FactorForm",
    "reauthenticate": "accounts.forms.FactorAgainForm",
    "add_webauthn": "accounts.forms.AddPasskeyForm",
    "edit_webauthn": "accounts.forms.RenamePasskeyForm",
    "login_webauthn": "accounts.forms.PasskeySignInForm",
    "authenticate_webauthn": "accounts.forms.PasskeyFactorForm",
    "reauthenticate_webauthn": "accounts.forms.PasskeyAgainForm",
}
MFA_ADAPTER = "accounts.second_factor.SecondFactorAdapter"
MFA_TOTP_TOLERANCE = 1
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_RATE_LIMITS = {"webauthn_login": "10/m/ip"} if _env.rate_limits == "on" and not _env.is_loopback else False
MFA_RECOVERY_CODES_SHOW_ONCE = True
PASSWORD_RESET_TIMEOUT = 3_600

MAILERS = {"default": mailer_of(_env.mail_url.get_secret_value())}
DEFAULT_FROM_EMAIL = SERVER_EMAIL = _env.sender

CACHES = {
    "default": {
        "BACKEND": "memford.core.cache.PatientCache",
        "LOCATION": _env.redis_url.get_secret_value(),
        "KEY_PREFIX": "memford",
    }
}

OAUTH2_PROVIDER_APPLICATION_MODEL = "authorization.Application"
OAUTH2_PROVIDER_GRANT_MODEL = "authorization.Grant"
OAUTH2_PROVIDER_ACCESS_TOKEN_MODEL = "authorization.AccessToken"  # noqa: S105
OAUTH2_PROVIDER_REFRESH_TOKEN_MODEL = "authorization.RefreshToken"  # noqa: S105
OAUTH2_PROVIDER_ID_TOKEN_MODEL = "authorization.IDToken"  # noqa: S105
OAUTH2_PROVIDER = {
    "PKCE_REQUIRED": True,
    "CIMD_ENABLED": _env.has_client_documents,
    "CIMD_METADATA_FETCHER": "mcp_gateway.authorization.documents.DocumentFetcher",
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "COMPLIANT_BCP_RFC9700_ACCESS_TOKEN_TRANSPORT": True,
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
    "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": True,
}

REST_FRAMEWORK = {
    "EXCEPTION_HANDLER": "memford.core.api.problems.to_problem",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "URL_FORMAT_OVERRIDE": None,
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Memford",
    "DESCRIPTION": "Everything an owner can do, for the workspace and for scripts of the owner's own browser.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVERS": [{"url": PUBLIC_URL}],
    "SERVE_PUBLIC": True,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": [],
    "COMPONENT_SPLIT_REQUEST": True,
    "SCHEMA_PATH_PREFIX": "/api",
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "memford.core.api.description.link_operations",
    ],
    "ENUM_NAME_OVERRIDES": {
        "NoteStatus": "projects.models.Status",
        "StandardStatus": "projects.models.StandardStatus",
    },
}

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "/static/"
# Few and small, they are served from where the apps keep them; nothing needs collecting.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

_secure = PUBLIC_URL.startswith("https://")
SESSION_COOKIE_SECURE = _secure
CSRF_COOKIE_SECURE = _secure
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_ENGINE = "accounts.login_sessions"
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_HSTS_SECONDS = 31_536_000 if _secure else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = False
# A proxy ends TLS and sends people on to https; the service itself believes no forwarded header (G6).
SECURE_SSL_REDIRECT = False
SILENCED_SYSTEM_CHECKS = [
    "security.W005",
    "security.W008",
    "security.W021",
    # Redirects to loopback addresses are http by nature (RFC 8252, O3).
    "oauth2_provider.W008",
]
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "memford.failures.form_expired"
SECURE_CSP = {
    "default-src": ["'none'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "font-src": ["'self'"],
    # Only what a page of ours names runs, wherever else a file may come from.
    "script-src": [CSP.NONCE],
    "connect-src": ["'self'"],
    "form-action": ["'self'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'none'"],
}

CELERY_BROKER_URL = _env.redis_url.get_secret_value()
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"


def _every(seconds: int, task: str) -> dict[str, Any]:
    """Return a periodic run of a task; one that nobody took up before the next is due is dropped."""
    return {"task": task, "schedule": seconds, "options": {"expires": seconds}}


CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "remove dead MCP sessions": _every(300, "transport.remove_dead_sessions"),
    "clean the authorization server": _every(900, "authorization.clean"),
    "erase deleted projects": _every(3_600, "projects.erase_deleted_projects"),
    "erase closed accounts": _every(3_600, "accounts.erase_closed_accounts"),
    "remove ended logins": _every(3_600, "accounts.remove_ended_logins"),
}

LOGGING_CONFIG = None
logging_config(_env.log_format)
