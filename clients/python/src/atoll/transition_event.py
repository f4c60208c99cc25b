"""What streams of events tell."""

from __future__ import annotations

from dataclasses import dataclass

from .schemas import InnerTransition


@dataclass(frozen=True)
class TransitionEvent(InnerTransition):
    """A transition as it is committed, and where the stream is after it."""

    position: str
    """Goes on after it, when it is given as `after`."""
