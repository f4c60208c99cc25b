"""Made once for a call, and kept over its retries: requests with one key are applied once."""

from __future__ import annotations

import uuid


def random_key() -> str:
    return str(uuid.uuid4())
