"""Structured logs: one line an event, with request and connection ids, without content or credentials (P2)."""

import logging
import logging.config
import re
from typing import Final

import structlog

# Credentials by their prefix (O9), and the part of a mail's link that is secret; Django logs paths as they came.
_SECRET: Final = re.compile(r"\b(mf[a-z]_)[\w-]{8,}|(/password/reset/key/)[^/\s\"']+")


def without_secrets(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.ProcessorReturnValue:
    """Cut credentials out of a line, whoever wrote them into it."""
    return {
        name: _SECRET.sub(lambda found: f"{found[1] or found[2]}…", value) if isinstance(value, str) else value
        for name, value in event.items()
    }


def logging_config(form: str) -> None:
    """Configure the standard library's and structlog's loggers for ``form``, ``json`` or ``console``."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if form == "json" else structlog.dev.ConsoleRenderer(colors=False)
    )
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "line": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "processors": [
                        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                        structlog.processors.format_exc_info,
                        without_secrets,
                        renderer,
                    ],
                    "foreign_pre_chain": shared,
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"handlers": ["stderr"], "level": "INFO"},
            "loggers": {
                # The kernel logs each refused message of a client at WARNING; that is not our news.
                "mcp": {"level": "ERROR"},
                "django.request": {"level": "ERROR"},
                # Anybody can send a wrong Host or too many fields; each would be a traceback.
                "django.security.DisallowedHost": {"level": "CRITICAL"},
                "django.security.TooManyFieldsSent": {"level": "CRITICAL"},
                # It tells of every key at INFO.
                "fido2": {"level": "WARNING"},
            },
        }
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
