"""The events of event streams."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from .schemas import Transition

EventKind = Literal["sandbox", "operation", "preview", "serviceAccess", "connectionGrant"]


@dataclass(frozen=True)
class TransitionEvent(Transition):
    """A committed transition, and its actor."""

    kind: EventKind
    """The kind of its actor."""
    actor_id: str
    """Its actor: an operation's id; a preview's is not its id."""
    sandbox_id: str
    """The Sandbox that it lives in, or is."""
    position: str
    """Given as `after`, the stream resumes after this event."""

    @classmethod
    def from_event(cls, data: str, position: str) -> TransitionEvent:
        told = json.loads(data)
        return cls(
            **vars(Transition.from_json(told)),
            kind=told["kind"],
            actor_id=told["actorId"],
            sandbox_id=told["sandboxId"],
            position=position,
        )
