"""Snapshots, forks and lineage against a service on simulated machines; in the synchronous form, too."""

from __future__ import annotations

import asyncio
import datetime
import os
import tempfile
from typing import AsyncIterator, List, TypeVar

import atoll
from atoll import AsyncAtoll

T = TypeVar("T")


async def gathered(things: AsyncIterator[T]) -> List[T]:
    return [thing async for thing in things]


async def snapshots(client: AsyncAtoll) -> None:
    async with client.sandboxes.create(env={"TOKEN": "secret"}) as source:
        snapshot = await source.snapshot(name="before", idempotency_key="one")
        assert (snapshot.status, snapshot.sandbox_id) == ("ready", source.id), snapshot
        assert (await source.snapshot(name="before", idempotency_key="one")).id == snapshot.id
        assert "ready" in repr(await client.snapshots.get(snapshot.id))
        at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        await snapshot.update(name=None, expires_at=at.isoformat())
        assert snapshot.record.name is None and snapshot.record.expires_at is not None, snapshot.record
        await snapshot.update(expires_at=None)
        assert snapshot.record.expires_at is None, snapshot.record
        assert [step.to async for step in snapshot.transitions()][:2] == ["creating", "ready"]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "snapshot")
            size = await snapshot.export(path)
            assert size == os.stat(path).st_size > 0 and os.listdir(folder) == ["snapshot"]
            copy = await client.snapshots.import_(path, name="copy", idempotency_key="two")
            assert (copy.status, copy.sandbox_id, copy.record.imported) == ("ready", None, True), copy.record
            assert (await client.snapshots.import_(path, name="copy", idempotency_key="two")).id == copy.id
            await copy.delete()
        assert (await copy.refresh()).status == "deleted", copy

    # Its source is gone.
    async with client.sandboxes.create(snapshot=snapshot) as made, client.sandboxes.create(snapshot=snapshot.id) as by_id:
        assert made.status == by_id.status == "running"
        assert made.record.snapshot_id == by_id.record.snapshot_id == snapshot.id
        assert made.record.env_names == ["TOKEN"], made.record
        lineage = await made.lineage()
        assert [(one.snapshot_id, one.sandbox_id) for one in lineage.parents] == [(snapshot.id, source.id)], lineage
        children = (await source.lineage()).children
        assert [one.sandbox_id for one in children] == [by_id.id, made.id], children
        other = await made.snapshot()
        assert [one.id for one in await gathered(client.snapshots.list(status=["ready"]))] == [other.id, snapshot.id]
        assert [one.id for one in await gathered(client.snapshots.list(sandbox_id=source.id))] == [snapshot.id]
        await snapshot.delete()
        assert (await snapshot.refresh()).status == "deleted", snapshot
        assert [one.id for one in await gathered(client.snapshots.list(status=["ready"]))] == [other.id]
        try:
            await client.sandboxes.create(snapshot=snapshot)
        except atoll.SnapshotNotReadyError as thrown:
            assert thrown.details.status == "deleted", thrown
        else:
            raise AssertionError("A Sandbox was made of a deleted snapshot.")
        try:
            await snapshot.until_ready()
        except atoll.WaitTimeout as thrown:
            assert "is deleted" in str(thrown), thrown
        else:
            raise AssertionError("A deleted snapshot became ready.")


async def forks(client: AsyncAtoll) -> None:
    async with client.sandboxes.create(name="source") as source:
        fork = await source.fork(5, names=["first", None], metadata={"team": "blue"}, idempotency_key="fork")
        assert [one.record.name for one in fork.sandboxes] == ["first", None, "source"], fork
        for child in fork.sandboxes:
            assert (child.status, child.record.snapshot_id) == ("running", fork.snapshot.id), child.record
            assert child.record.metadata == {"team": "blue"}, child.record
        assert [(one.index, one.code) for one in fork.refused] == [
            (3, "SANDBOX_LIMIT_REACHED"),
            (4, "SANDBOX_LIMIT_REACHED"),
        ], fork.refused
        again = await source.fork(5, names=["first", None], metadata={"team": "blue"}, idempotency_key="fork")
        assert [one.id for one in again.sandboxes] == [one.id for one in fork.sandboxes]
        assert (await fork.snapshot.until_ready()).status == "ready"
        for child in fork.sandboxes:
            await child.delete()


async def main() -> None:
    async with AsyncAtoll() as client:
        await snapshots(client)
        await forks(client)


asyncio.run(main())
