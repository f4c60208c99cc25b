"""What came from what, over snapshots and forks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List

from .schemas import LineageChild, LineageParent


@dataclass(frozen=True)
class Lineage:
    """From which Sandboxes one comes, and which come from it: each over a snapshot."""

    parents: List[LineageParent]
    """Nearest first. They end where a record is no longer kept."""
    children: List[LineageChild]
    """Newest first, deleted ones included."""
