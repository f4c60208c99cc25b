"""Every method against a service that is killed in its middle and started again: nothing is done twice, nothing is lost.

`READY` is said when each case is about to call its method; a line that is read lets them all do so at once.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
import os
import sys
import tempfile
import traceback
from typing import Any, AsyncIterator, Awaitable, Callable, Dict, List, Type, TypeVar

import atoll
from atoll import AsyncAtoll, AsyncImage, AsyncOperation, AsyncSandbox
from atoll._blocking import AsyncBlocking
from atoll._wire import AsyncWire
from support import AsyncBackground, AsyncGate, public_methods

T = TypeVar("T")

CLASSES = [one for one in vars(atoll).values() if inspect.isclass(one) and one.__module__.startswith("atoll._async.")]
ECHO = (
    "require('net').createServer({ allowHalfOpen: true }, (s) => { s.on('error', () => {}); s.pipe(s) })"
    ".listen(4000, '127.0.0.1')"
)
WEB_SOCKET_ECHO = """
const server = require('http').createServer((_, answer) => answer.end('hello')).listen(4001)
server.on('upgrade', (asked, socket) => {
  const key = asked.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
  const accept = require('crypto').createHash('sha1').update(key).digest('base64')
  socket.on('error', () => {})
  socket.write('HTTP/1.1 101 x\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n')
})
"""
FAILING = "FROM scratch\nCOPY nothing /\n"
SLOWLY = "for i in $(seq 40); do echo $i; sleep 0.05; done; echo end >&2"
SLOW_OUTPUT = "".join(f"{number}\n" for number in range(1, 41))


async def gathered(things: AsyncIterator[T]) -> List[T]:
    return [thing async for thing in things]


async def done_or_unknown(call: Callable[[], Awaitable[Any]]) -> None:
    """Nothing else may become of what cannot be repeated."""
    try:
        await call()
    except atoll.ConnectionError as error:
        assert error.outcome == "unknown", error


async def refused(kind: Type[atoll.AtollError], call: Callable[[], Awaitable[Any]]) -> None:
    try:
        await call()
    except kind:
        pass


async def answered_or_lost(call: Callable[[], Awaitable[Any]]) -> None:
    """It ends with the service's connections."""
    try:
        await call()
    except atoll.ConnectionError:
        pass


async def lost(call: Callable[[], Awaitable[Any]]) -> None:
    try:
        await call()
    except atoll.ConnectionLost:
        return
    raise AssertionError("The connection was not lost.")


async def pause() -> None:
    await asyncio.sleep(0.05)


class Cases:
    """Each named by its method."""

    def __init__(self, client: AsyncAtoll, sandbox: AsyncSandbox, shown_id: str, gate: AsyncGate) -> None:
        self.client = client
        self.shown_id = shown_id
        """Of the Sandbox with an open preview."""
        self.sandbox = sandbox
        """For all; none stops it."""
        self.gate = gate
        self.manner = os.environ["MANNER"]

    async def same(self, call: Callable[[], Awaitable[object]]) -> None:
        """What reads and what may be repeated: the same as without a kill."""
        before = await call()
        await self.gate.passed()
        after = await call()
        assert after == before, f"{after} is not {before}"

    async def another(self) -> AsyncSandbox:
        return await self.client.sandboxes.create()

    async def ended(self) -> AsyncOperation:
        operation = await self.sandbox.start(["echo", "hello"])
        await operation.wait()
        return operation

    async def of_events(self, events: AsyncIterator[atoll.TransitionEvent]) -> None:
        seen: List[atoll.TransitionEvent] = []
        watched: List[str] = []

        async def read() -> None:
            async for event in events:
                seen.append(event)
                if event.to == "completed" and event.actor_id in watched:
                    return

        reading = AsyncBackground(read)
        while not seen:
            await self.sandbox.run(["true"])
        operation = await self.sandbox.start(["sh", "-c", SLOWLY])
        watched.append(operation.id)
        await self.gate.passed()
        await reading.result()
        own = [event.revision for event in seen if event.actor_id == operation.id]
        stored = [step.revision async for step in operation.transitions()]
        # What settles after its end was perhaps stored already.
        assert own and own == stored[: len(own)], f"{own} of {stored}"

    async def atoll_me(self) -> None:
        async def account() -> object:
            return (await self.client.me()).account

        await self.same(account)

    async def atoll_events(self) -> None:
        await self.of_events(self.client.events())

    async def sandboxes_create(self) -> None:
        await self.gate.passed()
        made = await self.client.sandboxes.create(metadata={"made": self.manner})
        assert [one.id async for one in self.client.sandboxes.list(metadata={"made": self.manner})] == [made.id]
        await made.delete()

    async def sandboxes_get(self) -> None:
        async def id() -> object:
            return (await self.client.sandboxes.get(self.sandbox.id)).id

        await self.same(id)

    async def sandboxes_list(self) -> None:
        async def listed() -> object:
            return self.sandbox.id in [one.id async for one in self.client.sandboxes.list()]

        await self.same(listed)

    async def sandbox_snapshot(self) -> None:
        await self.gate.passed()
        made = await self.sandbox.snapshot(name=f"taken-{self.manner}")
        assert made.status == "ready", made
        found = [one.id async for one in self.client.snapshots.list() if one.record.name == f"taken-{self.manner}"]
        assert found == [made.id], found
        await made.delete()

    async def sandbox_fork(self) -> None:
        await self.gate.passed()
        fork = await self.sandbox.fork(names=[f"fork-{self.manner}"])
        assert [one.status for one in fork.sandboxes] == ["running"] and fork.refused == [], fork
        found = [one.id async for one in self.client.sandboxes.list() if one.record.name == f"fork-{self.manner}"]
        assert found == [one.id for one in fork.sandboxes], found
        await fork.sandboxes[0].delete()
        await fork.snapshot.delete()

    async def sandbox_rollback(self) -> None:
        # Not the Sandbox that the other methods use: it ends what runs.
        async with self.client.sandboxes.create() as own:
            await own.files.write("file", "then")
            snapshot = await own.snapshot()
            await own.files.write("file", "now")
            await own.refresh()
            generation = own.record.generation
            await self.gate.passed()
            kept = await own.rollback(snapshot)
            assert kept is not None and kept.status == "ready", kept
            await own.refresh()
            assert (own.status, own.record.generation) == ("running", generation + 1), own
            assert await own.files.read("file") == "then"
            await snapshot.delete()
            await kept.delete()

    async def sandbox_lineage(self) -> None:
        async def parents() -> object:
            return (await self.sandbox.lineage()).parents

        await self.same(parents)

    async def snapshots_get(self) -> None:
        snapshot = await self.sandbox.snapshot()

        async def id() -> object:
            return (await self.client.snapshots.get(snapshot.id)).id

        await self.same(id)
        await snapshot.delete()

    async def snapshots_list(self) -> None:
        snapshot = await self.sandbox.snapshot()

        async def listed() -> object:
            return snapshot.id in [one.id async for one in self.client.snapshots.list()]

        await self.same(listed)
        await snapshot.delete()

    async def snapshot_refresh(self) -> None:
        snapshot = await self.sandbox.snapshot()

        async def status() -> object:
            return (await snapshot.refresh()).status

        await self.same(status)
        await snapshot.delete()

    async def snapshot_until_ready(self) -> None:
        snapshot = await self.sandbox.snapshot(until_ready=False)
        await self.gate.passed()
        assert (await snapshot.until_ready()).status == "ready"
        await snapshot.delete()

    async def snapshot_update(self) -> None:
        snapshot = await self.sandbox.snapshot()
        await self.gate.passed()
        await done_or_unknown(lambda: snapshot.update(name="changed"))
        await snapshot.refresh()
        assert snapshot.record.name in (None, "changed")
        await snapshot.delete()

    async def snapshot_export(self) -> None:
        snapshot = await self.sandbox.snapshot()
        with tempfile.TemporaryDirectory() as here:
            path = os.path.join(here, "snapshot")
            await self.gate.passed()
            size = await snapshot.export(path)
            assert size == os.stat(path).st_size > 0 and os.listdir(here) == ["snapshot"]
        await snapshot.delete()

    async def snapshots_import_(self) -> None:
        snapshot = await self.sandbox.snapshot()
        name = f"imported-{self.manner}"
        with tempfile.TemporaryDirectory() as here:
            path = os.path.join(here, "snapshot")
            await snapshot.export(path)
            await self.gate.passed()
            imported = await self.client.snapshots.import_(path, name=name, idempotency_key=name)
        assert imported.status == "ready", imported
        found = [one.id async for one in self.client.snapshots.list() if one.record.name == name]
        assert found == [imported.id], found
        await imported.delete()
        await snapshot.delete()

    async def snapshot_delete(self) -> None:
        snapshot = await self.sandbox.snapshot()
        await self.gate.passed()
        await snapshot.delete()
        assert (await snapshot.refresh()).status in ("deleting", "deleted"), snapshot

    async def snapshot_transitions(self) -> None:
        snapshot = await self.sandbox.snapshot()

        async def revisions() -> object:
            return [step.revision async for step in snapshot.transitions()]

        await self.same(revisions)
        await snapshot.delete()

    async def pulled(self) -> AsyncImage:
        """Nothing listens there: what becomes of the pull decides nothing here."""
        return await self.client.images.pull("127.0.0.1:1/tools:1", until_ready=False)

    async def settled(self) -> AsyncImage:
        image = await self.pulled()
        try:
            await image.until_ready()
        except atoll.WaitTimeout:
            pass
        return image

    async def images_pull(self) -> None:
        await self.gate.passed()
        name = f"pulled-{self.manner}"
        made = await self.client.images.pull("127.0.0.1:1/tools:1", name=name, until_ready=False)
        found = [one.id async for one in self.client.images.list(name=name)]
        assert found == [made.id], found
        await made.delete()

    async def images_upload(self) -> None:
        name = f"uploaded-{self.manner}"
        with tempfile.TemporaryDirectory() as here:
            path = os.path.join(here, "image.tar")
            with open(path, "wb") as file:
                file.write(b"no archive")
            await self.gate.passed()
            made = await self.client.images.upload(path, name=name, until_ready=False)
        found = [one.id async for one in self.client.images.list(name=name)]
        assert found == [made.id], found
        await made.delete()

    async def images_build(self) -> None:
        name = f"built-{self.manner}"
        await self.gate.passed()
        try:
            made = await self.client.images.build(dockerfile=FAILING, name=name, until_ready=False)
        except atoll.UnsupportedByRuntimeError:
            # No host here builds.
            return
        found = [one.id async for one in self.client.images.list(name=name)]
        assert found == [made.id], found
        await made.delete()

    async def images_get(self) -> None:
        image = await self.settled()

        async def status() -> object:
            return (await self.client.images.get(image.id)).status

        await self.same(status)
        await image.delete()

    async def images_list(self) -> None:
        image = await self.settled()

        async def listed() -> object:
            return image.id in [one.id async for one in self.client.images.list()]

        await self.same(listed)
        await image.delete()

    async def images_delete(self) -> None:
        image = await self.pulled()
        await self.gate.passed()
        await self.client.images.delete(image.id)
        assert (await image.refresh()).status in ("deleting", "deleted"), image

    async def image_refresh(self) -> None:
        image = await self.settled()

        async def status() -> object:
            return (await image.refresh()).status

        await self.same(status)
        await image.delete()

    async def image_build_output(self) -> None:
        try:
            image = await self.client.images.build(dockerfile=FAILING, until_ready=False)
        except atoll.UnsupportedByRuntimeError:
            image = await self.settled()
        try:
            await image.until_ready()
        except atoll.WaitTimeout:
            pass

        async def output() -> object:
            chunks = await gathered(image.build_output())
            return [b"".join(one.data for one in chunks if one.stream == stream) for stream in ("stdout", "stderr")]

        await self.same(output)
        await image.delete()

    async def image_until_ready(self) -> None:
        image = await self.pulled()
        await self.gate.passed()
        try:
            await image.until_ready()
        except atoll.WaitTimeout:
            pass
        assert image.status != "pulling", image
        await image.delete()

    async def image_delete(self) -> None:
        image = await self.pulled()
        await self.gate.passed()
        await image.delete()
        assert (await image.refresh()).status in ("deleting", "deleted"), image

    async def image_transitions(self) -> None:
        image = await self.settled()

        async def revisions() -> object:
            return [step.revision async for step in image.transitions()]

        await self.same(revisions)
        await image.delete()

    async def workspaces_list(self) -> None:
        async def listed() -> object:
            return self.sandbox.workspace_id in [one.id for one in await self.client.workspaces.list()]

        await self.same(listed)

    async def workspaces_create(self) -> None:
        await self.gate.passed()
        made = await self.client.workspaces.create(f"new-{self.manner}")
        found = [one.id for one in await self.client.workspaces.list() if one.name == f"new-{self.manner}"]
        assert found == [made.id], found
        await self.client.workspaces.delete(made.id)

    async def workspaces_first(self) -> None:
        async def id() -> object:
            return (await self.client.workspaces.first()).id

        await self.same(id)

    async def workspaces_rename(self) -> None:
        made = await self.client.workspaces.create(f"old-{self.manner}")
        await self.gate.passed()
        await done_or_unknown(lambda: self.client.workspaces.rename(made.id, f"renamed-{self.manner}"))
        await self.client.me()
        names = [one.name for one in await self.client.workspaces.list() if one.id == made.id]
        assert names in ([f"old-{self.manner}"], [f"renamed-{self.manner}"]), names
        await self.client.workspaces.delete(made.id)

    async def workspaces_delete(self) -> None:
        made = await self.client.workspaces.create(f"gone-{self.manner}")
        await self.gate.passed()
        await done_or_unknown(lambda: self.client.workspaces.delete(made.id))
        await self.client.me()
        await refused(atoll.NotFoundError, lambda: self.client.workspaces.delete(made.id))
        assert made.id not in [one.id for one in await self.client.workspaces.list()]

    async def usage_read(self) -> None:
        async def begin() -> object:
            return (await self.client.usage.read()).from_

        await self.same(begin)

    async def usage_balance(self) -> None:
        async def status() -> object:
            return (await self.client.usage.balance()).status

        await self.same(status)

    async def usage_costs(self) -> None:
        async def read() -> object:
            return (await self.client.usage.costs()).total_micro_usd >= 0

        await self.same(read)

    async def usage_transactions(self) -> None:
        async def read() -> object:
            return len(await gathered(self.client.usage.transactions())) >= 0

        await self.same(read)

    async def sandbox_refresh(self) -> None:
        async def status() -> object:
            return (await self.sandbox.refresh()).status

        await self.same(status)

    async def sandbox_until_running(self) -> None:
        sandbox = await self.client.sandboxes.create(until_running=False)
        await self.gate.passed()
        await sandbox.until_running()
        assert sandbox.status == "running"
        await sandbox.delete()

    async def sandbox_stop(self) -> None:
        sandbox = await self.another()
        await self.gate.passed()
        await sandbox.stop()
        assert sandbox.status == "stopped"
        await sandbox.delete()

    async def sandbox_boot(self) -> None:
        sandbox = await self.another()
        await sandbox.stop()
        await self.gate.passed()
        await sandbox.boot()
        assert (sandbox.status, sandbox.record.generation) == ("running", 2), "It was booted once."
        await sandbox.delete()

    async def sandbox_update(self) -> None:
        sandbox = await self.another()
        await self.gate.passed()
        await done_or_unknown(lambda: sandbox.update(name="changed"))
        await sandbox.refresh()
        assert sandbox.record.name in (None, "changed")
        await sandbox.delete()

    async def sandbox_delete(self) -> None:
        sandbox = await self.another()
        await self.gate.passed()
        await sandbox.delete()
        while (await sandbox.refresh()).status not in ("deleting", "deleted"):
            await pause()

    async def sandbox_start(self) -> None:
        await self.gate.passed()
        operation = await self.sandbox.start(["sh", "-c", f"echo once >> started-{self.manner}"])
        assert (await operation.wait()).exit_code == 0
        assert await self.sandbox.files.read(f"started-{self.manner}") == "once\n"

    async def sandbox_run(self) -> None:
        await self.gate.passed()
        result = await self.sandbox.run(["sh", "-c", f"echo once >> ran-{self.manner}; {SLOWLY}; exit 3"])
        assert (result.stdout, result.stderr, result.exit_code) == (SLOW_OUTPUT, "end\n", 3), result
        assert await self.sandbox.files.read(f"ran-{self.manner}") == "once\n"

    async def sandbox_operation(self) -> None:
        ended = await self.ended()

        async def found() -> object:
            return (await self.sandbox.operation(ended.id)).record

        await self.same(found)

    async def sandbox_operations(self) -> None:
        ended = await self.ended()

        async def found() -> object:
            return [one.record async for one in self.sandbox.operations() if one.id == ended.id]

        await self.same(found)

    async def sandbox_processes(self) -> None:
        sleeper = await self.sandbox.start(["sleep", "977"])

        async def found() -> int:
            return len([one for one in await self.sandbox.processes() if "977" in one.argv])

        while await found() == 0:
            await pause()
        await self.same(found)
        await sleeper.cancel()

    async def sandbox_logs(self) -> None:
        async def read() -> object:
            return len(await self.sandbox.logs(limit=1)) <= 1

        await self.same(read)

    async def sandbox_transitions(self) -> None:
        async def first() -> object:
            return (await gathered(self.sandbox.transitions()))[0]

        await self.same(first)

    async def sandbox_events(self) -> None:
        await self.of_events(self.sandbox.events())

    async def sandbox_terminal(self) -> None:
        await self.gate.passed()
        async with self.sandbox.terminal() as terminal:
            await terminal.write("exit 4\n")
            await gathered(terminal.output())
            assert await terminal.wait() == atoll.TerminalExit(4, None)

    async def sandbox_tunnel(self) -> None:
        await self.gate.passed()
        async with self.sandbox.tunnel(4000) as tunnel:
            await tunnel.write(b"ping")
            await tunnel.write_eof()
            assert await tunnel.read() == b"ping"
            assert await tunnel.read() == b""

    async def echoed(self, port: int) -> bytes:
        """Nothing where that port carries nothing."""
        try:
            wire = await AsyncWire.connect("127.0.0.1", port, None, 60)
        except OSError:
            return b""
        try:
            await wire.write(b"ping")
            return await wire.read(60)
        except OSError:
            return b""
        finally:
            await wire.aclose()

    async def sandbox_forward(self) -> None:
        async with self.sandbox.forward(4000) as forward:
            assert await self.echoed(forward.port) == b"ping"
            await self.gate.passed()
            while await self.echoed(forward.port) != b"ping":
                await pause()

    async def sandbox_close_tunnels(self) -> None:
        own = await self.client.sandboxes.get(self.sandbox.id)
        tunnel = await own.tunnel(4000)
        await self.gate.passed()
        await own.close_tunnels()
        await lost(tunnel.read)
        await tunnel.close()

    async def files_chunks(self) -> None:
        name = f"chunks-{self.manner}"
        await self.sandbox.run(["sh", "-c", f"head -c 9000000 /dev/urandom > {name}"])
        expected = (await self.sandbox.run(["sha256sum", name])).stdout[:64]
        await self.gate.passed()
        digest = hashlib.sha256()
        async for chunk in self.sandbox.files.chunks(name):
            digest.update(chunk)
        assert digest.hexdigest() == expected
        await self.sandbox.files.remove(name)

    async def files_read_bytes(self) -> None:
        await self.sandbox.files.write(f"bytes-{self.manner}", os.urandom(1000))
        await self.same(lambda: self.sandbox.files.read_bytes(f"bytes-{self.manner}"))

    async def files_read(self) -> None:
        await self.sandbox.files.write(f"text-{self.manner}", "grüße")
        await self.same(lambda: self.sandbox.files.read(f"text-{self.manner}"))

    async def files_read_text(self) -> None:
        await self.sandbox.files.write(f"words-{self.manner}", "grüße")
        await self.same(lambda: self.sandbox.files.read_text(f"words-{self.manner}"))

    async def files_sha256(self) -> None:
        await self.sandbox.files.write(f"sum-{self.manner}", "grüße")
        await self.same(lambda: self.sandbox.files.sha256(f"sum-{self.manner}"))

    async def files_write(self) -> None:
        name = f"written-{self.manner}"
        await self.sandbox.files.write(name, "old")
        await self.gate.passed()
        await done_or_unknown(lambda: self.sandbox.files.write(name, "new"))
        assert await self.sandbox.files.read(name) in ("old", "new")

    async def files_upload(self) -> None:
        name = f"uploaded-{self.manner}"
        with tempfile.TemporaryDirectory() as here:
            for number in range(20):
                with open(os.path.join(here, str(number)), "wb") as file:
                    file.write(b"n" * 100_000)
            await self.gate.passed()
            await done_or_unknown(lambda: self.sandbox.files.upload(here, name))
            await self.client.me()
            # The same again does no harm.
            assert (await self.sandbox.files.upload(here, name)).entries == 20
            assert len(await gathered(self.sandbox.files.list(name))) == 20

    async def files_download(self) -> None:
        name = f"downloaded-{self.manner}"
        await self.sandbox.run(["sh", "-c", f"mkdir {name} && head -c 3000000 /dev/urandom > {name}/large"])
        expected = await self.sandbox.files.sha256(f"{name}/large")
        await self.gate.passed()
        with tempfile.TemporaryDirectory() as here:
            assert (await self.sandbox.files.download(name, here)).bytes == 3_000_000
            with open(os.path.join(here, "large"), "rb") as file:
                assert hashlib.sha256(file.read()).hexdigest() == expected

    async def files_edit(self) -> None:
        name = f"edited-{self.manner}"
        await self.sandbox.files.write(name, "one")
        known = await self.sandbox.files.sha256(name)
        await self.gate.passed()
        await done_or_unknown(
            lambda: self.sandbox.files.edit(name, old_text="one", new_text="one two", expected_sha256=known)
        )
        assert await self.sandbox.files.read(name) in ("one", "one two")

    async def files_list(self) -> None:
        name = f"listed-{self.manner}"
        await self.sandbox.run(["sh", "-c", f"mkdir {name} && cd {name} && seq 1200 | xargs touch"])

        async def count() -> object:
            return len(await gathered(self.sandbox.files.list(name)))

        await self.same(count)

    async def files_stat(self) -> None:
        async def type_() -> object:
            return (await self.sandbox.files.stat(".")).type

        await self.same(type_)

    async def files_exists(self) -> None:
        await self.same(lambda: self.sandbox.files.exists("not-there"))

    async def files_mkdir(self) -> None:
        name = f"made-{self.manner}"
        await self.gate.passed()
        await done_or_unknown(lambda: self.sandbox.files.mkdir(name))
        await self.client.me()
        await refused(atoll.AlreadyExistsError, lambda: self.sandbox.files.mkdir(name))
        assert await self.sandbox.files.exists(name)

    async def files_rename(self) -> None:
        here, there = f"here-{self.manner}", f"there-{self.manner}"
        await self.sandbox.files.write(here, "moves")
        await self.gate.passed()
        await done_or_unknown(lambda: self.sandbox.files.rename(here, there))
        await self.client.me()
        await refused(atoll.NotFoundError, lambda: self.sandbox.files.rename(here, there))
        assert await self.sandbox.files.read(there) == "moves"

    async def files_remove(self) -> None:
        name = f"removed-{self.manner}"
        await self.sandbox.files.write(name, "goes")
        await self.gate.passed()
        await done_or_unknown(lambda: self.sandbox.files.remove(name))
        await self.client.me()
        await refused(atoll.NotFoundError, lambda: self.sandbox.files.remove(name))
        assert not await self.sandbox.files.exists(name)

    async def active(self, sandbox: AsyncSandbox) -> int:
        return len([one for one in await sandbox.previews.list() if one.status == "active"])

    async def previews_open(self) -> None:
        await self.gate.passed()
        await done_or_unknown(lambda: self.sandbox.previews.open(4000))
        assert await self.active(self.sandbox) <= 1
        await self.sandbox.previews.close()

    async def previews_list(self) -> None:
        async def read() -> object:
            return len(await self.sandbox.previews.list()) >= 0

        await self.same(read)

    async def shown(self) -> atoll.AsyncPreview:
        """For all; none closes it."""
        return await (await self.client.sandboxes.get(self.shown_id)).previews.get(4001)

    async def previews_get(self) -> None:
        async def read() -> object:
            return (await self.shown()).id

        await self.same(read)

    async def preview_fetch(self) -> None:
        preview = await self.shown()
        await self.gate.passed()
        await answered_or_lost(preview.fetch)
        await self.client.me()
        assert (await preview.fetch()).text == "hello"

    async def preview_websocket(self) -> None:
        preview = await self.shown()
        await self.gate.passed()
        await answered_or_lost(preview.websocket)
        await self.client.me()
        await (await preview.websocket()).close()

    async def previewsocket_send(self) -> None:
        connection = await (await self.shown()).websocket()
        await self.gate.passed()
        await answered_or_lost(lambda: connection.send("hello"))
        await connection.close()

    async def previewsocket_receive(self) -> None:
        connection = await (await self.shown()).websocket()
        await self.gate.passed()
        await lost(connection.receive)
        await connection.close()

    async def previewsocket_messages(self) -> None:
        connection = await (await self.shown()).websocket()
        await self.gate.passed()
        await lost(lambda: gathered(connection.messages()))
        await connection.close()

    async def previewsocket_close(self) -> None:
        connection = await (await self.shown()).websocket()
        await self.gate.passed()
        await connection.close()
        await connection.close()

    async def previews_close(self) -> None:
        sandbox = await self.another()
        await sandbox.previews.open(4000, within_seconds=0)
        await self.gate.passed()
        await sandbox.previews.close()
        assert await self.active(sandbox) == 0
        await sandbox.delete()

    async def preview_close(self) -> None:
        sandbox = await self.another()
        preview = await sandbox.previews.open(4000, within_seconds=0)
        await self.gate.passed()
        await preview.close()
        assert await self.active(sandbox) == 0
        await sandbox.delete()

    async def operation_refresh(self) -> None:
        ended = await self.ended()
        await self.same(ended.refresh)

    async def operation_wait(self) -> None:
        operation = await self.sandbox.start(["sh", "-c", f"{SLOWLY}; exit 5"])
        await self.gate.passed()
        assert (await operation.wait()).exit_code == 5

    async def operation_cancel(self) -> None:
        operation = await self.sandbox.start(["sleep", "600"])
        await self.gate.passed()
        await operation.cancel()
        assert (await operation.wait()).status == "cancelled"

    async def operation_output(self) -> None:
        operation = await self.sandbox.start(["sh", "-c", SLOWLY])
        reading = AsyncBackground(lambda: gathered(operation.output()))
        await self.gate.passed()
        chunks = await reading.result()
        assert b"".join(one.data for one in chunks if one.stream == "stdout").decode() == SLOW_OUTPUT
        assert b"".join(one.data for one in chunks if one.stream == "stderr") == b"end\n"

    async def operation_read(self) -> None:
        ended = await self.ended()
        await self.same(lambda: ended.read("stdout", 1))

    async def operation_transitions(self) -> None:
        ended = await self.ended()
        await self.same(lambda: gathered(ended.transitions()))

    async def terminal_output(self) -> None:
        terminal = await self.sandbox.terminal()
        await self.gate.passed()
        await lost(lambda: gathered(terminal.output()))
        await terminal.close()

    async def terminal_write(self) -> None:
        terminal = await self.sandbox.terminal()
        await self.gate.passed()
        await done_or_unknown(lambda: terminal.write("true\n"))
        await lost(lambda: gathered(terminal.output()))
        await terminal.close()

    async def terminal_resize(self) -> None:
        terminal = await self.sandbox.terminal()
        await self.gate.passed()
        await done_or_unknown(lambda: terminal.resize(100, 30))
        await lost(terminal.wait)
        await terminal.close()

    async def terminal_wait(self) -> None:
        terminal = await self.sandbox.terminal()
        await self.gate.passed()
        await lost(terminal.wait)
        await terminal.close()

    async def terminal_close(self) -> None:
        terminal = await self.sandbox.terminal()
        await self.gate.passed()
        await terminal.close()
        assert await terminal.wait() is None

    async def tunnel_read(self) -> None:
        tunnel = await self.sandbox.tunnel(4000)
        await self.gate.passed()
        await lost(tunnel.read)
        await tunnel.close()

    async def tunnel_write(self) -> None:
        tunnel = await self.sandbox.tunnel(4000)
        await self.gate.passed()
        await done_or_unknown(lambda: tunnel.write(b"ping"))
        await lost(tunnel.read)
        await tunnel.close()

    async def tunnel_write_eof(self) -> None:
        tunnel = await self.sandbox.tunnel(4000)
        await self.gate.passed()
        await done_or_unknown(tunnel.write_eof)
        await lost(tunnel.read)
        await tunnel.close()

    async def tunnel_close(self) -> None:
        tunnel = await self.sandbox.tunnel(4000)
        await self.gate.passed()
        await tunnel.close()
        assert await tunnel.read() == b""

    async def forward_close(self) -> None:
        forward = await self.sandbox.forward(4000)
        assert await self.echoed(forward.port) == b"ping"
        await self.gate.passed()
        await forward.close()
        assert await self.echoed(forward.port) == b""


def cases(world: Cases) -> Dict[str, Callable[[], Awaitable[None]]]:
    """By the methods' names. Closing a client's connections asks nothing of the service."""
    wanted = public_methods(CLASSES) - {"AsyncAtoll.aclose", "Atoll.close"}
    names = {name.replace("Async", "").replace(".", "_").lower(): name for name in wanted}
    missing = [method for name, method in names.items() if not hasattr(world, name)]
    assert missing == [], f"No case for {missing}"
    return {method: getattr(world, name) for name, method in names.items()}


async def play(client: AsyncAtoll) -> List[str]:
    """What failed."""
    failures: List[str] = []
    gate = AsyncGate()
    async with client.sandboxes.create() as sandbox, client.sandboxes.create() as shown:
        await shown.start(["node", "-e", WEB_SOCKET_ECHO])
        await shown.previews.open(4001)
        await sandbox.start(["node", "-e", ECHO])
        while (await sandbox.run(["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/4000"])).exit_code != 0:
            await pause()
        # Each with an object of its own: what one does to it, such as ending its tunnels, is not the others'.
        names = list(cases(Cases(client, sandbox, shown.id, gate)))
        worlds = [Cases(client, await client.sandboxes.get(sandbox.id), shown.id, gate) for _ in names]

        async def judged(world: Cases, name: str) -> None:
            try:
                await cases(world)[name]()
            except Exception:
                failures.append(f"{name}: {traceback.format_exc()}")

        running = [AsyncBackground(functools.partial(judged, world, name)) for world, name in zip(worlds, names)]
        while gate.waiting < len(names) and not failures:
            await pause()
        if not failures:
            print("READY", flush=True)
            await AsyncBlocking.run(sys.stdin.readline)
        gate.open()
        for one in running:
            await one.result()
    return failures


async def main() -> None:
    async with AsyncAtoll(patience_seconds=240) as client:
        failures = await play(client)
    if failures:
        raise SystemExit("\n".join(failures))


asyncio.run(main())
