"""A workspace holds Sandboxes, and bounds the sum of their volumes."""

from __future__ import annotations

from typing import List, Optional

from .._random_key import random_key
from ..schemas import Workspace
from .api import AsyncApi

_FIRST_KEY = "atoll-client-first-workspace"
"""Concurrent programs get the same one, with either library."""


class AsyncWorkspaces:
    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self) -> List[Workspace]:
        return (await self._api.list_workspaces()).workspaces

    async def create(self, name: str, *, idempotency_key: Optional[str] = None) -> Workspace:
        """idempotency_key: names this creation: the same key returns the same workspace. By default a new key."""
        key = idempotency_key or random_key()
        return (await self._api.create_workspace(idempotency_key=key, name=name)).workspace

    async def first(self) -> Workspace:
        """The oldest one; made, with the name `default`, if there is none."""
        known = await self.list()
        if known:
            return min(known, key=lambda workspace: workspace.created_at)
        return await self.create("default", idempotency_key=_FIRST_KEY)

    async def rename(self, id: str, name: str) -> Workspace:
        return (await self._api.rename_workspace(id, name=name)).workspace

    async def delete(self, id: str) -> None:
        """Only an empty one; else it fails with WorkspaceNotEmptyError."""
        await self._api.delete_workspace(id)
