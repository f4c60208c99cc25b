"""The content of an answer: its JSON as one of the classes, or its error."""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Mapping, Optional, TypeVar

import httpx

from .errors import AtollError, UnreadableAnswer
from .service_errors import BY_CODE

T = TypeVar("T")


def decoded(answer: httpx.Response, decode: Callable[[Any], T]) -> T:
    """Of an answer that was read."""
    try:
        return decode(json.loads(answer.content))
    except (ValueError, LookupError, TypeError, AttributeError) as thrown:
        message = f"{answer.request.method} {answer.request.url.path}: the answer is not what it should be ({thrown!r})."
        raise UnreadableAnswer(message) from thrown


def error_of(answer: httpx.Response) -> AtollError:
    """The error of an answer that was read."""
    retry_after_seconds = _seconds(answer.headers.get("Retry-After"))
    documentation = _help(answer)
    try:
        body = json.loads(answer.content)
    except ValueError:
        body = None
    if not (isinstance(body, Mapping) and isinstance(body.get("code"), str) and isinstance(body.get("message"), str)):
        body = _foreign(answer)
        documentation = None
    details = body.get("details")
    made, decode = BY_CODE.get(body["code"], (AtollError, lambda told: told))
    try:
        details = decode(details)
    except (LookupError, TypeError, AttributeError):
        made = AtollError
    return made(
        body,
        answer.status_code,
        details=details,
        retry_after_seconds=retry_after_seconds,
        documentation=documentation,
    )


def _help(answer: httpx.Response) -> Optional[str]:
    """The header Link with the relation `help` (RFC 8288), which is relative to what was asked."""
    found = re.search(r"<([^>]*)>;\s*rel=\"?help\"?", answer.headers.get("Link", ""))
    if found is None:
        return None
    try:
        return str(answer.request.url.join(found.group(1)))
    except (RuntimeError, httpx.InvalidURL):
        # An answer without its request.
        return None


def _seconds(text: Optional[str]) -> Optional[float]:
    # The service does not use the other form of Retry-After, a date.
    return float(text) if text is not None and text.isascii() and text.isdigit() else None


def _foreign(answer: httpx.Response) -> Mapping[str, Any]:
    """For an answer that is no error of the service's shape: a proxy's, for example."""
    status = answer.status_code
    return {
        "code": "SERVICE_UNAVAILABLE" if status in (502, 503, 504) else "INTERNAL",
        "message": f"The answer {status} did not come from Atoll: {answer.text[:200]}",
        "requestId": "",
        # The sender of the answer does not know the outcome.
        "details": {"outcome": "unknown"} if status >= 500 else None,
    }
