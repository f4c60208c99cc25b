"""Made once for a call, and kept over its repetitions: what is done twice under it is done once."""

from __future__ import annotations

import uuid


def random_key() -> str:
    return str(uuid.uuid4())
