"""Whether, and after which pause, a request that failed is retried.

Retried are reads, requests with an Idempotency-Key, those that the contract calls the same when repeated, and those that certainly
were not applied: refused by a rate limit, or by a service that was not reached or said that nothing was changed.
"""

from __future__ import annotations

import random
import time
from typing import Optional, Union

from .errors import AtollError, ConnectionError

Fault = Union[AtollError, ConnectionError]

_FIRST_PAUSE_SECONDS = 0.1
_PAUSE_MAX_SECONDS = 5.0


class Patience:
    """Of one call, over all its attempts."""

    def __init__(self, seconds: float) -> None:
        self._give_up_at = time.monotonic() + seconds
        self._attempt = 0

    def pause_after(self, fault: Fault, is_repeatable: bool) -> Optional[float]:
        """Seconds; None: no retry."""
        if not (_is_passing(fault) and (is_repeatable or fault.outcome == "notApplied")):
            return None
        told = fault.retry_after_seconds if isinstance(fault, AtollError) else None
        back_off = min(_PAUSE_MAX_SECONDS, _FIRST_PAUSE_SECONDS * 2.0 ** min(self._attempt, 10))
        self._attempt += 1
        # Spread, not all together.
        pause = back_off * random.uniform(0.5, 1) if told is None else max(told, 0.01) + random.uniform(0, 0.05)
        return None if time.monotonic() + pause > self._give_up_at else pause


def _is_passing(fault: Fault) -> bool:
    """Whether a retry may succeed soon. A Sandbox that does not run will not run by itself: that answer has no time to wait."""
    if isinstance(fault, ConnectionError) or fault.code in ("RATE_LIMITED", "SERVICE_UNAVAILABLE"):
        return True
    return fault.status >= 500 and (fault.outcome == "unknown" or fault.retry_after_seconds is not None)
