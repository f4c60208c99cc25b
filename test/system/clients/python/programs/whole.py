"""Every public method against a real service; in its synchronous form, too."""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import inspect
import json
import os
import tempfile
import time
import uuid
from typing import Any, AsyncIterator, Awaitable, Callable, List, Type, TypeVar

import atoll
from atoll import AsyncAtoll, AsyncSandbox
from atoll._async import api as api_module
from atoll._wire import AsyncWire
from support import AsyncBackground, Called

MANNER = os.environ["MANNER"]

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)

CLASSES = [one for one in vars(atoll).values() if inspect.isclass(one) and one.__module__.startswith("atoll._async.")]


async def gathered(things: AsyncIterator[T]) -> List[T]:
    return [thing async for thing in things]


async def failed(kind: Type[E], call: Callable[[], Awaitable[Any]]) -> E:
    try:
        await call()
    except kind as thrown:
        return thrown
    raise AssertionError(f"It did not fail with {kind.__name__}.")


async def commands(sandbox: AsyncSandbox) -> None:
    told: List[str] = []
    script = 'echo "grüße $WHO $GIVEN"; cat; echo oops >&2; pwd; exit 3'
    result = await sandbox.run(
        ["sh", "-c", script], stdin="from stdin\n", env={"WHO": "Ada"}, cwd="/workspace", on_stdout=told.append
    )
    assert (result.exit_code, result.signal, result.truncated) == (3, None, False), result
    assert result.stdout == "grüße Ada all\nfrom stdin\n/workspace\n" == "".join(told), result
    assert result.stderr == "oops\n", result
    assert (await sandbox.run(["od", "-An", "-tx1"], stdin=b"\x00\xff\n")).stdout.strip() == "00 ff 0a"
    tail = await sandbox.run(["sh", "-c", "seq 1 100000; sleep 0.1; echo end"], keep_bytes=1000)
    assert tail.truncated and tail.stdout.endswith("100000\nend\n"), tail.stdout[-100:]
    assert (await sandbox.run(["sh", "-c", "kill -9 $$"])).signal == "SIGKILL"
    late = await sandbox.run(["sleep", "60"], timeout_seconds=1)
    assert late.operation.reason is not None and late.operation.reason.code == "TIMED_OUT"

    sleeper = await sandbox.start(["sh", "-c", "echo up; sleep 600"], idempotency_key=f"sleeper-{MANNER}")
    again = await sandbox.start(["sh", "-c", "echo up; sleep 600"], idempotency_key=f"sleeper-{MANNER}")
    assert again.id == sleeper.id
    await failed(atoll.WaitTimeout, lambda: sleeper.wait(within_seconds=0.1))
    async for chunk in sleeper.output():
        assert (chunk.stream, chunk.offset, chunk.data) == ("stdout", 0, b"up\n"), chunk
        break
    async for chunk in sleeper.output(from_={"stdout": 1}):
        assert (chunk.offset, chunk.data, chunk.next_offset) == (1, b"p\n", 3), chunk
        break
    assert (await sleeper.read("stdout", 1)).next_offset == 3
    assert (await sleeper.refresh()).status in ("queued", "running"), sleeper
    assert (await sleeper.cancel()).status == "cancelled"
    found = await sandbox.operation(sleeper.id)
    assert (await found.wait()).status == "cancelled"
    assert [step.to async for step in found.transitions()][-1] == "cancelled"
    names = [operation.record.argv[0] for operation in await gathered(sandbox.operations())]
    assert names == ["sh", "sleep", "sh", "sh", "od", "sh"], names

    # Who gives up waiting does not end the command.
    key = f"abandoned-{MANNER}"
    abandoned = AsyncBackground(lambda: sandbox.run(["sleep", "601"], idempotency_key=key))
    while not any(one.argv == ["sleep", "601"] for one in await sandbox.processes()):
        await asyncio.sleep(0.02)
    await abandoned.abandon()
    going_on = await sandbox.start(["sleep", "601"], idempotency_key=key)
    found_there = await sandbox.processes()
    assert any(one.operation_id == going_on.id for one in found_there), (going_on, found_there)
    await going_on.cancel()

    # It writes for ever, and is looked at for a while.
    endless = await sandbox.start(["yes"])
    seen = 0
    async for chunk in endless.output():
        seen += len(chunk.data)
        if seen > 500_000:
            break
    await endless.cancel()

    # Of this one the service keeps only the end.
    written = 3 * int(os.environ["RETAINED_BYTES"])
    long = await sandbox.start(["head", "-c", str(written), "/dev/zero"])
    await long.wait()
    while (await long.read("stdout", 0)).offset == 0:
        # It is cut beside what is answered.
        await asyncio.sleep(0.02)
    pieces = await gathered(long.output(from_={"stdout": 1000}))
    assert pieces[0].truncated and pieces[0].missing_bytes == pieces[0].offset - 1000 > 0, pieces[0].offset
    assert not any(piece.truncated or piece.missing_bytes for piece in pieces[1:])
    assert 1000 + pieces[0].missing_bytes + sum(len(piece.data) for piece in pieces) == written


async def files(sandbox: AsyncSandbox) -> None:
    files = sandbox.files
    await files.mkdir("deep/er", recursive=True)
    await files.write("deep/er/note.txt", "one two two")
    assert await files.read("/workspace/deep/er/note.txt") == "one two two"
    ambiguous = await failed(
        atoll.TextAmbiguousError, lambda: files.edit("deep/er/note.txt", old_text="two", new_text="three")
    )
    assert ambiguous.details.occurrences == 2 and ambiguous.status == 409
    edited = await files.edit("deep/er/note.txt", old_text="two", new_text="three", replace_all=True)
    assert edited.sha256 == await files.sha256("deep/er/note.txt") and edited.replacements == 2
    assert await files.read("deep/er/note.txt") == "one three three"
    await files.rename("deep/er/note.txt", "ü.txt")
    assert not await files.exists("deep/er/note.txt")
    assert await files.exists("ü.txt")
    assert (await files.stat("ü.txt")).size_bytes == 15
    await sandbox.run(["sh", "-c", "mkdir many && cd many && seq 1 1200 | xargs touch"])
    assert len(await gathered(files.list("many"))) == 1200
    await sandbox.run(["sh", "-c", "head -c 9000000 /dev/urandom > large"])
    expected = (await sandbox.run(["sha256sum", "large"])).stdout[:64]
    assert hashlib.sha256(await files.read_bytes("large")).hexdigest() == expected
    sizes = [len(chunk) async for chunk in files.chunks("large", from_=100)]
    assert len(sizes) > 1 and sum(sizes) == 8_999_900, sizes
    await files.remove("many", recursive=True)
    assert not await files.exists("many")


async def archives(sandbox: AsyncSandbox, here: str) -> None:
    """Directories and large files, both ways."""
    source = os.path.join(here, "source")
    os.makedirs(os.path.join(source, "empty"))
    os.makedirs(os.path.join(source, "deep", "er"))
    for name, content in [("run.sh", b"#!/bin/sh\necho ran\n"), ("deep/er/large", os.urandom(1_000_000)), ("deep/ü", b"")]:
        with open(os.path.join(source, name), "wb") as file:
            file.write(content)
    os.chmod(os.path.join(source, "run.sh"), 0o755)
    os.utime(os.path.join(source, "run.sh"), (1_700_000_000, 1_700_000_000))
    os.symlink("er/large", os.path.join(source, "deep", "link"))
    os.link(os.path.join(source, "run.sh"), os.path.join(source, "same.sh"))
    told: List[int] = []
    unpacked = await sandbox.files.upload(source, "project/copy", on_progress=told.append)
    assert unpacked.path == "/workspace/project/copy" and unpacked.entries == 8, unpacked
    assert told == sorted(told) and told[-1] > 1_000_000, told[-3:]
    assert (await sandbox.run(["./run.sh"], cwd="/workspace/project/copy")).stdout == "ran\n"

    # What leads out of where it is put does not come along.
    script = "ln -s /etc/passwd out && ln -s ../../.. up && ln -s deep/../.. odd && mkfifo pipe"
    await sandbox.run(["sh", "-c", script], cwd="/workspace/project/copy")
    copy = os.path.join(here, "copy")
    downloaded = await sandbox.files.download("project/copy", copy)
    assert downloaded.entries == 8 and sorted(downloaded.left_out) == ["odd", "out", "up"], downloaded
    assert downloaded.bytes >= 1_000_000
    for folder, _, names in os.walk(source):
        for name in names:
            path = os.path.join(folder, name)
            other = os.path.join(copy, os.path.relpath(path, source))
            assert os.path.islink(path) == os.path.islink(other), other
            with open(path, "rb") as one, open(other, "rb") as two:
                assert one.read() == two.read(), other
            assert (os.stat(path).st_mode, int(os.stat(path).st_mtime)) == (
                os.stat(other).st_mode,
                int(os.stat(other).st_mtime),
            ), other
    assert os.path.samefile(os.path.join(copy, "run.sh"), os.path.join(copy, "same.sh"))
    assert os.path.isdir(os.path.join(copy, "empty"))
    assert not [name for name in os.listdir(copy) if name.startswith(".atoll-")]
    # Again over what is there.
    assert (await sandbox.files.download("project/copy", copy)).entries == 8
    await failed(atoll.NotFoundError, lambda: sandbox.files.download("nowhere", copy))

    # One file, and one that is written whole from memory.
    await sandbox.files.upload(os.path.join(source, "run.sh"), "bin/tool")
    tool = os.path.join(here, "tool")
    assert (await sandbox.files.download("bin/tool", tool)).bytes == 19
    assert os.stat(tool).st_mode & 0o777 == 0o755
    content = os.urandom(9_000_000)
    await sandbox.files.write("bin/tool", content)
    assert await sandbox.files.read_bytes("bin/tool") == content
    assert (await sandbox.files.stat("bin/tool")).mode == "0755"
    await failed(atoll.NotFoundError, lambda: sandbox.files.write("nowhere/large", content))
    await failed(atoll.DirectoryNotEmptyError, lambda: sandbox.files.remove("project"))
    await sandbox.files.mkdir("blocked")
    await sandbox.files.write("blocked/deep", "A file is where the archive has a directory.")
    incomplete = await failed(atoll.ArchiveIncompleteError, lambda: sandbox.files.upload(source, "blocked"))
    assert incomplete.details.reason == "in_the_way", incomplete


# It answers with what it was asked, and sends each short message of a WebSocket back.
ECHO = """
const { createHash } = require('crypto')
const server = require('http').createServer((q, r) => r.end(q.method + ' ' + q.url + ' ' + q.headers.host))
server.on('upgrade', (q, socket) => {
  const key = q.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
  const accept = createHash('sha1').update(key).digest('base64')
  socket.write('HTTP/1.1 101 x\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n')
  socket.on('data', (frame) => {
    const mask = frame.subarray(2, 6)
    const payload = frame.subarray(6).map((byte, at) => byte ^ mask[at % 4])
    socket.write(Buffer.concat([Buffer.from([frame[0], payload.length]), payload]))
    if ((frame[0] & 15) === 8) socket.end()
  })
})
setTimeout(() => server.listen(3000), 300)
"""


async def previews(sandbox: AsyncSandbox) -> None:
    server = await sandbox.start(["node", "-e", ECHO])
    async with sandbox.previews.open(3000) as preview:
        assert preview.url.startswith("http://") and preview.port == 3000
        assert any(process.argv[0] == "node" for process in await sandbox.processes())
        host = preview.url.split("/")[2]
        assert (await preview.fetch("/a", params={"b": "c"})).text == f"GET /a?b=c {host}"
        assert (await preview.fetch(preview.url + "d", method="POST", json={})).text == f"POST /d {host}"
        elsewhere = await failed(ValueError, lambda: preview.fetch("http://127.0.0.1/api/v2/me"))
        assert "cookies" in str(elsewhere), elsewhere
        async with preview.websocket("/live") as connection:
            await connection.send("hello")
            assert await connection.receive() == "hello"
            await connection.send(b"\0\1\2")
            assert await connection.receive() == b"\0\1\2"
            await connection.send("again")
            async for message in connection.messages():
                assert message == "again"
                break
        async with sandbox.previews.open(3001, alongside=True, within_seconds=0) as beside:
            assert (await beside.fetch()).status_code == 502
            refused = await failed(atoll.ConnectionError, lambda: beside.websocket())
            assert "answered with 502" in str(refused), refused
            assert (await sandbox.previews.get(3001)).url == beside.url
        assert (await sandbox.previews.get(3000)).url == preview.url
        await failed(atoll.NotFoundError, lambda: sandbox.previews.get(3001))
        exists = await failed(atoll.PreviewExistsError, lambda: sandbox.previews.open(3001))
        assert exists.outcome == "notApplied"
        assert [one.port for one in await sandbox.previews.list() if one.status == "active"] == [3000]
    await failed(atoll.WaitTimeout, lambda: sandbox.previews.open(9, within_seconds=0.3))
    assert all(one.status != "active" for one in await sandbox.previews.list())
    opened = await sandbox.previews.open(3000, within_seconds=0)
    await sandbox.previews.close()
    await opened.close()
    await server.cancel()


async def terminals(sandbox: AsyncSandbox) -> None:
    async with sandbox.terminal(columns=100, rows=30) as terminal:
        await terminal.write("stty size\n")
        shown = b""
        async for piece in terminal.output():
            shown += piece
            if b"30 100" in shown:
                break
        await terminal.resize(120, 40)
        await terminal.write(b"until [ \"$(stty size)\" = '40 120' ]; do sleep 0.02; done; exit 3\n")
        async for piece in terminal.output():
            shown += piece
        assert await terminal.wait() == atoll.TerminalExit(3, None)
    # What nobody reads holds the shell back, and nothing of it is lost.
    terminal = await sandbox.terminal()
    await terminal.write("stty -echo -opost; clear; head -c 1000000 /dev/zero | tr '\\0' 'z'; exit\n")
    while not terminal._is_held_back:
        await asyncio.sleep(0.02)
    count = 0
    async for piece in terminal.output():
        count += piece.count(b"z")
    assert count >= 1_000_000, count
    await terminal.close()
    idle = await sandbox.terminal()
    await idle.close()
    assert await idle.wait() is None
    await idle.write("too late")


async def tunnels(sandbox: AsyncSandbox) -> None:
    echo = "require('net').createServer({ allowHalfOpen: true }, (s) => s.pipe(s)).listen(4000)"
    server = await sandbox.start(["node", "-e", echo])
    tunnel = None
    while tunnel is None:
        try:
            tunnel = await sandbox.tunnel(4000)
        except atoll.SandboxUnavailableError as refused:
            if "4000" not in str(refused):
                await sandbox.refresh()
                raise AssertionError((str(refused), refused.details, sandbox.record))
            # It does not listen yet.
            await asyncio.sleep(0.05)
    sent = os.urandom(1_000_000)
    opened = tunnel

    async def send() -> None:
        await opened.write(sent)
        await opened.write_eof()

    sending = AsyncBackground(send)
    received = b""
    piece = await opened.read()
    while piece:
        received += piece
        piece = await opened.read()
    await sending.result()
    assert received == sent, len(received)
    await opened.close()

    async with sandbox.forward(4000) as forward:
        wire = await AsyncWire.connect(forward.host, forward.port, None, 30)
        await wire.write(b"hello ")
        await wire.write(b"there")
        await wire.write_eof()
        answered = b""
        piece = await wire.read(60)
        while piece:
            answered += piece
            piece = await wire.read(60)
        assert answered == b"hello there", answered
        await wire.aclose()
        cut = await AsyncWire.connect(forward.host, forward.port, None, 30)
        await cut.write(b"and on")
        assert await cut.read(60) == b"and on"
        async with sandbox.tunnel(4000) as other:
            await sandbox.close_tunnels()
            lost = await failed(atoll.ConnectionLost, other.read)
            assert lost.outcome == "unknown"
        assert await cut.read(60) == b""
        await cut.aclose()
    await server.cancel()
    said = ""
    while not said:
        # Its processes end a moment later.
        try:
            await (await sandbox.tunnel(4000)).close()
            await asyncio.sleep(0.05)
        except atoll.SandboxUnavailableError as gone:
            said = str(gone)
    assert "4000" in said, said


async def life(client: AsyncAtoll, sandbox: AsyncSandbox) -> None:
    await sandbox.update(name="second", metadata={"team": None, "tier": MANNER}, env={"GIVEN": None})
    await sandbox.update(lifetime=atoll.Lifetime(stop_after_seconds=86_000))
    assert sandbox.record.name == "second" and sandbox.record.metadata == {"tier": MANNER}, sandbox.record
    assert sandbox.record.env_names == [] and sandbox.record.lifetime.stop_after_seconds == 86_000
    await sandbox.update(lifetime=None)
    assert sandbox.record.lifetime.stop_at is None
    listed = await gathered(client.sandboxes.list(status=["running"], metadata={"tier": MANNER}))
    assert [one.id for one in listed] == [sandbox.id]
    await sandbox.stop()
    assert sandbox.status == "stopped"
    stopped = await failed(atoll.SandboxUnavailableError, lambda: sandbox.run(["true"]))
    assert stopped.details.status == "stopped"
    await sandbox.boot()
    await sandbox.until_running()
    assert await sandbox.files.read("ü.txt") == "one three three"
    steps = [step.to for step in await gathered(sandbox.transitions())]
    assert steps[:2] == ["pending", "running"], steps
    assert "grüße Ada" in "".join(entry.text for entry in await sandbox.logs())


async def snapshots(client: AsyncAtoll, sandbox: AsyncSandbox) -> None:
    await sandbox.files.write("kept.txt", MANNER)
    snapshot = await sandbox.snapshot(name="kept", until_ready=False)
    await snapshot.until_ready()
    await snapshot.update(name=MANNER)
    found = await client.snapshots.get(snapshot.id)
    assert (await found.refresh()).record.name == MANNER, found.record
    assert [one.id for one in await gathered(client.snapshots.list(sandbox_id=sandbox.id))] == [snapshot.id]
    async with client.sandboxes.create(snapshot=snapshot) as made:
        assert await made.files.read("kept.txt") == MANNER
        await made.files.write("kept.txt", "other")
        assert [one.sandbox_id for one in (await made.lineage()).parents] == [sandbox.id]
        kept = await made.rollback(snapshot)
        assert kept is not None and kept.status == "ready", kept
        assert await made.files.read("kept.txt") == MANNER
        await kept.delete()
    with tempfile.TemporaryDirectory() as here:
        path = os.path.join(here, "kept")
        size = await snapshot.export(path)
        assert len((await client.api.export_snapshot(snapshot.id, offset=1)).data) == size - 1
        imported = await client.snapshots.import_(path, name="imported")
        assert imported.status == "ready", imported
        await imported.delete()
    fork = await sandbox.fork(2)
    assert [await one.files.read("kept.txt") for one in fork.sandboxes] == [MANNER, MANNER], fork
    for child in fork.sandboxes:
        await child.delete()
    await snapshot.delete()
    assert "ready" in [step.to async for step in found.transitions()]
    await fork.snapshot.delete()


async def images(client: AsyncAtoll) -> None:
    # Nothing listens there: what becomes of the pull decides nothing here.
    image = await client.images.pull("127.0.0.1:1/tools:1", name=MANNER, until_ready=False)
    try:
        await image.until_ready()
    except atoll.WaitTimeout:
        assert image.record.status_reason is not None, image
    found = await client.images.get(image.id)
    assert (await found.refresh()).status == image.status
    assert [one.id for one in await gathered(client.images.list(name=MANNER))] == [image.id]
    await image.delete()
    await client.images.delete(image.id)
    with tempfile.TemporaryDirectory() as here:
        path = os.path.join(here, "archive")
        with open(path, "wb") as file:
            file.write(b"an archive")
        uploaded = await client.images.upload(path, name="uploaded", until_ready=False)
        assert uploaded.record.reference is None, uploaded.record
        await uploaded.delete()
    assert "deleting" in [step.to async for step in found.transitions()]


async def builds(client: AsyncAtoll) -> None:
    told: List[bytes] = []
    failing = "FROM scratch\nCOPY nothing /\n"
    try:
        await client.images.build(dockerfile=failing, name=f"build-{MANNER}", on_output=lambda chunk: told.append(chunk.data))
        raise AssertionError("It has built an image.")
    except atoll.UnsupportedByRuntimeError:
        # No host here builds: what is asked of no image finds none.
        image = await client.images.pull("127.0.0.1:1/tools:1", until_ready=False)
        assert await gathered(image.build_output()) == []
        await failed(atoll.NotFoundError, lambda: client.api.read_build_output(image.id, stream="stdout", offset=0))
        await failed(atoll.NotFoundError, lambda: client.api.stream_build_output(image.id))
    except atoll.WaitTimeout as thrown:
        assert "IMAGE_BUILD_FAILED" in str(thrown), thrown
        image = [one async for one in client.images.list(name=f"build-{MANNER}")][0]
        assert b"nothing" in b"".join(told), told
        again = b"".join([chunk.data async for chunk in image.build_output()])
        assert sorted(again) == sorted(b"".join(told)), (again, told)
        read = await client.api.read_build_output(image.id, stream="stdout", offset=0)
        assert read.eof, read
        opened = await client.api.stream_build_output(image.id)
        assert opened.is_success and not opened.is_stream_consumed
        await opened.aclose()
        with tempfile.TemporaryDirectory() as here:
            os.mkdir(os.path.join(here, "docker"))
            for path in ["docker/File", "kept"]:
                with open(os.path.join(here, path), "w") as file:
                    file.write("FROM scratch\nARG WHO\nCOPY kept /\nLABEL who=$WHO\n")
            built = await client.images.build(here, dockerfile="docker/File", build_args={"WHO": "a,b&c=d"})
            assert built.status == "ready", built
            await built.delete()
    await image.delete()
    await failed(ValueError, lambda: client.images.build())
    await failed(ValueError, lambda: client.images.build(".", registry="registry.test"))
    await failed(FileNotFoundError, lambda: client.images.build("/nowhere"))


async def events(client: AsyncAtoll, sandbox: AsyncSandbox) -> None:
    async def first() -> atoll.TransitionEvent:
        async for event in sandbox.events():
            return event
        raise AssertionError("The stream ended.")

    watching = AsyncBackground(first)
    done = False
    while not done:
        # Until the watcher is there.
        await sandbox.run(["true"])
        done = watching.done
    event = await watching.result()
    assert event.sandbox_id == sandbox.id, event
    last = await sandbox.run(["true"])
    stored = [step.revision async for step in (await sandbox.operation(last.operation.id)).transitions()]
    for stream in [sandbox.events(after=event.position), client.events(after=event.position)]:
        seen = [event]
        async for later in stream:
            seen.append(later)
            if later.actor_id == last.operation.id and later.to == "completed":
                break
        for actor in {one.actor_id for one in seen}:
            revisions = [one.revision for one in seen if one.actor_id == actor]
            assert revisions == list(range(revisions[0], revisions[-1] + 1)), revisions
        own = [one.revision for one in seen if one.actor_id == last.operation.id]
        # What settles after its end was perhaps stored already.
        assert own and own == stored[: len(own)], (own, stored)


async def account(client: AsyncAtoll) -> None:
    assert (await client.me()).account.name == "default"
    assert (await client.usage.balance()).currency == "USD"
    assert (await client.usage.read()).operations > 0
    assert (await client.usage.costs(group_by="day")).total_micro_usd >= 0
    await gathered(client.usage.transactions())
    workspace = await client.workspaces.create("mine", idempotency_key=f"mine-{MANNER}")
    assert (await client.workspaces.create("mine", idempotency_key=f"mine-{MANNER}")).id == workspace.id
    assert (await client.workspaces.first()).id != workspace.id
    assert (await client.workspaces.rename(workspace.id, "yours")).name == "yours"
    await client.workspaces.delete(workspace.id)
    assert workspace.id not in [one.id for one in await client.workspaces.list()]


async def errors(client: AsyncAtoll) -> None:
    missing = await failed(atoll.NotFoundError, lambda: client.sandboxes.get("sbx_01234567890123456789abcdef"))
    assert missing.status == 404 and missing.request_id.startswith("req_") and missing.code == "NOT_FOUND"
    assert str(missing.documentation).startswith("http://127.0.0.1:")
    assert str(missing.documentation).endswith("/docs#NOT_FOUND")
    invalid = await failed(atoll.InvalidRequestError, lambda: client.workspaces.create(""))
    assert "name" in str(invalid) and invalid.details.issues[0].path == ["name"], invalid
    narrow = AsyncAtoll(api_key=os.environ["NARROW_KEY"])
    async with narrow:
        refused = await failed(atoll.ScopeRequiredError, lambda: narrow.workspaces.list())
        assert refused.details.scope == "sandbox:read", refused
        assert isinstance(refused, atoll.AtollError) and isinstance(refused, atoll.Error)
    async with AsyncAtoll(url="http://127.0.0.1:" + os.environ["NOBODYS_PORT"], patience_seconds=0) as nobodys:
        away = await failed(atoll.ConnectionError, lambda: nobodys.workspaces.create("x"))
        assert away.outcome == "notApplied", away
        assert isinstance(away, OSError)
        unread = await failed(atoll.ConnectionError, lambda: nobodys.me())
        assert unread.outcome == "notApplied", unread
    try:
        AsyncAtoll(api_key="with\nline")
        raise AssertionError("It took a key with a line end.")
    except ValueError:
        pass


async def every_operation(client: AsyncAtoll, sandbox: AsyncSandbox) -> None:
    """What the rest of this program did not ask for."""
    api = client.api
    assert (await api.get_open_api())["info"]["version"] == atoll.schemas.DESCRIPTION_VERSION
    assert len((await api.list_machines()).machines) > 3
    workspace = (await api.get_workspace(sandbox.workspace_id)).workspace
    assert workspace.sandbox_count >= 1
    assert len((await api.list_sandbox_history(sandbox.id, limit=10)).transitions) == 10
    operation = await sandbox.start(["sleep", "600"])
    process = None
    while process is None:
        # It is queued, perhaps.
        found = [one for one in await sandbox.processes() if one.operation_id == operation.id and one.argv[0] == "sleep"]
        process = found[0] if found else None
    await api.end_process(sandbox.id, process.id, grace_seconds=0)
    assert (await operation.wait()).signal == "SIGKILL"
    await operation.cancel()
    while not (await api.list_declined_events(sandbox.id, operation.id)).declined:
        # It is noted beside the log.
        await asyncio.sleep(0.02)
    analytics = (await api.read_analytics(sandbox.id)).analytics
    assert analytics.lifecycle.boots == 2 and analytics.operations.started > 5, analytics
    assert (await api.download_archive(sandbox.id, path="/workspace/bin")).data[:4] == b"tool"
    # Streams are answered unread.
    for opened in [
        await api.open_read_file(sandbox.id, path="/workspace/ü.txt"),
        await api.open_download_archive(sandbox.id, path="/workspace/bin"),
        await api.stream_logs(sandbox.id, limit=1),
        await api.stream_operation_output(sandbox.id, operation.id),
    ]:
        assert opened.is_success and not opened.is_stream_consumed
        await opened.aclose()
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    access = str(uuid.uuid4())
    made = await api.create_service_access(sandbox.id, idempotency_key=access, requested_at=now, ports=[3000])
    same = await api.look_up_service_access(sandbox.id, idempotency_key=access, requested_at=now, ports=[3000])
    assert made.capability == same.capability
    assert (await api.revoke_service_access(sandbox.id, access)).generation_id == access
    keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKLLhGdZpVCYAPYwFAcnbQJdr4VQ3Wz5n0yOoRdKnmzA"]
    grant = await api.grant_connection(sandbox.id, public_keys=keys)
    assert (await api.regrant_connection(sandbox.id, grant.endpoint_id, public_keys=keys)).port == grant.port
    assert (await api.revoke_connection(sandbox.id, grant.endpoint_id)).status == "unconfirmed"
    assert len((await api.list_audit_events(limit=5, sandbox_id=sandbox.id)).events) == 5
    async with AsyncAtoll(api_key=os.environ["SPARE_KEY"]) as spare:
        await spare.api.revoke_key()
        await failed(atoll.UnauthenticatedError, lambda: spare.me())


async def main() -> None:
    called = Called([*CLASSES, api_module.AsyncApi])
    began = time.monotonic()
    client = AsyncAtoll(patience_seconds=120)
    async with client.sandboxes.create(
        name="first",
        metadata={"team": "blue"},
        env={"GIVEN": "all"},
        lifetime=atoll.Lifetime(stop_after_seconds=80_000),
        network_enabled=True,
    ) as sandbox:
        assert sandbox.status == "running"
        assert (await client.sandboxes.get(sandbox.id)).record.metadata == {"team": "blue"}
        await commands(sandbox)
        await files(sandbox)
        with tempfile.TemporaryDirectory() as here:
            await archives(sandbox, here)
        await previews(sandbox)
        await terminals(sandbox)
        await tunnels(sandbox)
        await life(client, sandbox)
        await snapshots(client, sandbox)
        await images(client)
        await builds(client)
        await events(client, sandbox)
        await account(client)
        await errors(client)
        await every_operation(client, sandbox)
    await sandbox.refresh()
    assert sandbox.status in ("deleting", "deleted"), sandbox
    unwaited = await client.sandboxes.create(until_running=False)
    await unwaited.delete()
    await client.aclose()
    assert called.missing == [], f"No case for {called.missing}"
    print(json.dumps({"seconds": round(time.monotonic() - began, 1)}))


asyncio.run(main())
