# Made by `npm run clients` from _async/workspaces.py. Not to be edited.
"""A workspace holds Sandboxes, and bounds the sum of their volumes."""

from __future__ import annotations

from typing import List, Optional

from .._random_key import random_key
from ..schemas import Workspace
from .api import Api

_FIRST_KEY = "atoll-client-first-workspace"
"""Concurrent programs get the same one, with either library."""


class Workspaces:
    def __init__(self, api: Api) -> None:
        self._api = api

    def list(self) -> List[Workspace]:
        return self._api.list_workspaces().workspaces

    def create(self, name: str, *, idempotency_key: Optional[str] = None) -> Workspace:
        """idempotency_key: names this creation: the same key returns the same workspace. By default a new key."""
        key = idempotency_key or random_key()
        return self._api.create_workspace(idempotency_key=key, name=name).workspace

    def first(self) -> Workspace:
        """The oldest one; made, with the name `default`, if there is none."""
        known = self.list()
        if known:
            return min(known, key=lambda workspace: workspace.created_at)
        return self.create("default", idempotency_key=_FIRST_KEY)

    def rename(self, id: str, name: str) -> Workspace:
        return self._api.rename_workspace(id, name=name).workspace

    def delete(self, id: str) -> None:
        """Only an empty one; else it fails with WorkspaceNotEmptyError."""
        self._api.delete_workspace(id)
