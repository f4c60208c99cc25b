"""What streams of events tell."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from .schemas import Transition

EventKind = Literal["sandbox", "operation", "preview", "serviceAccess", "connectionGrant"]


@dataclass(frozen=True)
class TransitionEvent(Transition):
    """A transition as it is committed, and whose it is."""

    kind: EventKind
    """What took it."""
    actor_id: str
    """Whose step it is: an operation's id; a preview's is not its id."""
    sandbox_id: str
    """The Sandbox that it lives in, or is."""
    position: str
    """Goes on after it, when it is given as `after`."""

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
