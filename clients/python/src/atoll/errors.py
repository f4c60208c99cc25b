"""All errors. Each is an Error; one of the service is an AtollError, of the class of its code."""

from __future__ import annotations

import builtins
from typing import Any, Literal, Mapping, Optional

Outcome = Literal["notApplied", "unknown"]
"""notApplied: nothing was changed. unknown: it may have been applied; look before you repeat it."""


class Error(Exception):
    """Of this library."""


class AtollError(Error):
    """The service refused the request, or could not apply it. Each code has a class:

    try:
        workspaces.delete(id)
    except atoll.WorkspaceNotEmptyError as error:
        print(error.details.sandbox_count)
    """

    code: str
    """Later versions of the service may have codes without a class: treat an unknown one by its status."""
    status: int
    """Of HTTP."""
    request_id: str
    """The request's id in the service's log."""
    details: Any
    """The details of the code, for programs."""
    outcome: Outcome
    retry_after_seconds: Optional[float]
    """When the service can be asked again, if it said so."""
    documentation: Optional[str]
    """The place in the service's reference that has the cause of this code and the next step. None: the service named none."""

    def __init__(
        self,
        body: Mapping[str, Any],
        status: int,
        *,
        details: Any = None,
        retry_after_seconds: Optional[float] = None,
        documentation: Optional[str] = None,
    ) -> None:
        told = body.get("details")
        super().__init__(str(body["message"]) + _issues(told))
        self.code = body["code"]
        self.status = status
        self.request_id = str(body.get("requestId", ""))
        self.details = details
        self.retry_after_seconds = retry_after_seconds
        self.documentation = documentation
        says_unknown = status >= 500 and isinstance(told, Mapping) and told.get("outcome") == "unknown"
        self.outcome = "unknown" if status == 408 or says_unknown else "notApplied"

    def __str__(self) -> str:
        return f"{self.code}: {super().__str__()}"


class ConnectionError(Error, builtins.ConnectionError):
    """No whole answer came: the service was not reached, or the connection ended before it."""

    outcome: Outcome

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


class ConnectionLost(ConnectionError):
    """The connection of a terminal or a tunnel broke, and ended it: open another one. The bytes that it had sent may have arrived."""

    close_code: Optional[int]
    """Of the WebSocket (RFC 6455 section 7.4), if the service closed it: 1001 when it stops, 1011 when the Sandbox does."""

    def __init__(self, message: str, close_code: Optional[int] = None) -> None:
        super().__init__(message, "unknown")
        self.close_code = close_code


class UnreadableAnswer(Error):
    """The answer is not as the description says: another service, or a version that this library does not know."""


class WaitTimeout(Error, TimeoutError):
    """The wait ended first; it ended nothing in the Sandbox."""


def _issues(details: Any) -> str:
    """A fault of a request, and its place."""
    issues = details.get("issues") if isinstance(details, Mapping) else None
    if not isinstance(issues, list):
        return ""
    return "".join(
        f"\n  {'.'.join(str(key) for key in issue.get('path', []))}: {issue.get('message')}"
        for issue in issues
        if isinstance(issue, Mapping)
    )
