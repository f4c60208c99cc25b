"""What needs no service: archives that mean harm, frames that are cut anywhere, TLS, events in pieces, patience."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import math
import os
import socket
import ssl
import stat
import struct
import tarfile
import tempfile
import threading
import weakref
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Optional, Tuple, Type, Union

import httpx

import atoll
from atoll import AsyncAtoll, AsyncFiles, AsyncSandbox, AsyncTerminal
from atoll._answers import decoded, error_of
from atoll._event_stream import EventStreamReader
from atoll._frames import CLOSE, Close, FrameReader, Ping, frame
from atoll._pack import packed_directory
from atoll._patience import Patience
from atoll._unpack import put, unpack
from atoll._wire import AsyncWire
from support import AsyncBackground, AsyncGate


def entry(name: str, *, content: Optional[bytes] = None, link: str = "", kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = link
    info.size = len(content or b"")
    info.mode = 0o4755
    return info


def harmful_archives() -> None:
    with tempfile.TemporaryDirectory() as here:
        os.mkdir(os.path.join(here, "outside"))
        into = os.path.join(here, "into")
        os.mkdir(into)
        os.symlink(os.path.join(here, "outside"), os.path.join(into, "there"))
        content = b"harm"
        entries = [
            entry("/absolute", content=content),
            entry("../up", content=content),
            entry("deep/../../up", content=content),
            entry("there/through-what-was-there", content=content),
            entry("abs", link="/etc", kind=tarfile.SYMTYPE),
            entry("abs/through", content=content),
            entry("up", link="../outside", kind=tarfile.SYMTYPE),
            entry("up/through", content=content),
            # Each of them stays below by its words; together they do not.
            entry("a", kind=tarfile.DIRTYPE),
            entry("a/self", link="..", kind=tarfile.SYMTYPE),
            entry("escape", link="a/self/..", kind=tarfile.SYMTYPE),
            entry("escape/outside/through", content=content),
            entry("a/self/through", content=content),
            entry("hard", link="/etc/passwd", kind=tarfile.LNKTYPE),
            entry("hard", link="../outside/x", kind=tarfile.LNKTYPE),
            entry("hard", link="there/x", kind=tarfile.LNKTYPE),
            entry("hard", link="missing", kind=tarfile.LNKTYPE),
            entry("device", kind=tarfile.CHRTYPE),
            entry("fifo", kind=tarfile.FIFOTYPE),
            # A directory that is there is not replaced by a link.
            entry("a", link="..", kind=tarfile.SYMTYPE),
            entry("good", content=b"good"),
            entry("a/good", link="../good", kind=tarfile.SYMTYPE),
            entry("again", link="good", kind=tarfile.LNKTYPE),
            entry("again", link="good", kind=tarfile.LNKTYPE),
        ]
        with open(os.path.join(here, "outside", "x"), "wb") as file:
            file.write(b"untouched")
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for info in entries:
                tar.addfile(info, io.BytesIO(b"good" if info.name == "good" else content) if info.size else None)
        archive.seek(0)
        done = unpack(archive, into)
        found = {os.path.relpath(os.path.join(at, name), here) for at, _, names in os.walk(here) for name in names}
        # Where a link was left out, its name is free for a directory.
        through = {"into/abs/through", "into/up/through", "into/escape/outside/through"}
        assert found == {"outside/x", "into/good", "into/a/good", "into/again"} | through, found
        assert os.listdir(os.path.join(here, "outside")) == ["x"]
        assert done.entries == 9 and len(done.left_out) == 15, done
        # Not what sets the user.
        assert os.stat(os.path.join(into, "good")).st_mode & 0o7777 == 0o755
        assert os.path.samefile(os.path.join(into, "again"), os.path.join(into, "good"))


def tree_of(root: str) -> List[Tuple[bytes, int, int, bytes]]:
    """Name, mode, time in whole seconds, and content or target of everything in it."""
    found: List[Tuple[bytes, int, int, bytes]] = []
    for folder, directories, files in os.walk(os.fsencode(root)):
        for name in directories + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            content = b""
            if os.path.islink(path):
                content = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    content = file.read()
            told_seconds = 0 if os.path.islink(path) else math.floor(status.st_mtime)
            found.append((os.path.relpath(path, os.fsencode(root)), status.st_mode, told_seconds, content))
    return sorted(found)


def exact_archives() -> None:
    """What goes into an archive comes out as it was, by anybody: permissions, times before 1970, names that are not UTF-8."""
    with tempfile.TemporaryDirectory() as here:
        os.chmod(here, 0o777)
        was_root = os.geteuid() == 0
        if was_root:
            # Whom permissions hold.
            os.seteuid(65534)
        try:
            source, copy = os.path.join(here, "source"), os.path.join(here, "copy")
            latin = os.fsdecode(b"caf\xe9")
            for folder in ("sealed", "sealed/deep", latin):
                os.makedirs(os.path.join(source, folder))
            contents = {"plain": 0o644, "read-only": 0o444, "sealed/deep/own": 0o400, "all": 0o777, f"{latin}/\udcfc": 0o640}
            for name, mode in contents.items():
                path = os.path.join(source, name)
                with open(path, "wb") as file:
                    file.write(os.fsencode(name))
                os.chmod(path, mode)
            os.symlink(f"{latin}/\udcfc", os.path.join(source, "to latin"))
            os.link(os.path.join(source, "all"), os.path.join(source, "sealed", "same"))
            os.utime(os.path.join(source, "read-only"), (-86_400.5, -86_400.5))
            for folder in ("sealed/deep", "sealed"):
                os.utime(os.path.join(source, folder), (-1000, -1000))
                os.chmod(os.path.join(source, folder), 0o555)
            os.chmod(os.path.join(source, latin), 0o500)
            archive = b"".join(packed_directory(source))
            # And once more over what is there.
            for _ in range(2):
                done = unpack(io.BytesIO(archive), copy)
                assert done.entries == 10 and done.left_out == [], done
                assert tree_of(copy) == tree_of(source), (tree_of(copy), tree_of(source))
            single = os.path.join(here, "single")
            put(os.path.join(here, "beside"), 0o444, single)
            assert stat.S_IMODE(os.stat(single).st_mode) == 0o444
        finally:
            if was_root:
                os.seteuid(0)


def server_frame(opcode: int, payload: bytes, *, is_last: bool = True) -> bytes:
    first = (0x80 if is_last else 0) | opcode
    length = len(payload)
    if length < 126:
        return struct.pack("!BB", first, length) + payload
    return struct.pack("!BBH", first, 126, length) + payload


def frames() -> None:
    stream = (
        server_frame(1, "grü".encode()[:3], is_last=False)
        + server_frame(9, b"ping")
        + server_frame(0, "grü".encode()[3:] + b"sse")
        + server_frame(2, b"\0" * 300, is_last=False)
        + server_frame(0, b"\1")
        + server_frame(2, b"")
        + server_frame(8, struct.pack("!H", 1001) + b"bye")
    )
    for size in (1, 2, 7, len(stream)):
        reader = FrameReader()
        told: List[Union[bytes, str, Ping, Close]] = []
        for at in range(0, len(stream), size):
            told.extend(reader.feed(stream[at : at + size]))
        data = b"".join(one for one in told if isinstance(one, bytes))
        assert data == b"\0" * 300 + b"\1", data
        others = [one for one in told if not isinstance(one, bytes)]
        assert others == [Ping(b"ping"), "grüsse", Close(1001, "bye")], others
    malformed = [
        b"\x83\x00",
        b"\xc1\x00",
        b"\x81\x80",
        b"\x80\x00",
        b"\x01\x00\x01\x00",
        b"\x09\x00",
        b"\x89\x7e\x00\x7e",
        b"\x81\x01\xff",
    ]
    for bytes_ in malformed:
        try:
            list(FrameReader().feed(bytes_))
            raise AssertionError(f"{bytes_!r} was read.")
        except atoll.UnreadableAnswer:
            pass
    for length in (0, 125, 126, 65_535, 65_536):
        payload = os.urandom(length)
        sent = frame(CLOSE, payload)
        head = {0: 2, 125: 2, 126: 4, 65_535: 4, 65_536: 10}[length]
        mask = sent[head : head + 4]
        assert bytes(byte ^ mask[at % 4] for at, byte in enumerate(sent[head + 4 :])) == payload


def events() -> None:
    text = "id: 1\r\n\r\n: heartbeat\n\ndata: é\nevent: output\n\nid: 2\ndata\ndata:  b\n\r\n"
    for size in (1, 3, 1000):
        reader = EventStreamReader()
        whole = text.encode()
        told = [one for at in range(0, len(whole), size) for one in reader.feed(whole[at : at + size])]
        assert [(one.id, one.event, one.data) for one in told] == [
            ("1", "", ""),
            ("1", "output", "é"),
            ("2", "message", "\n b"),
        ], told


def answer(status: int, body: Union[bytes, Dict[str, object]], headers: Optional[Dict[str, str]] = None) -> httpx.Response:
    request = httpx.Request("GET", "http://127.0.0.1/x")
    if isinstance(body, bytes):
        return httpx.Response(status, content=body, headers=headers, request=request)
    return httpx.Response(status, json=body, headers=headers, request=request)


def answers() -> None:
    """Of services that are newer, older, or none at all."""
    newer = error_of(answer(409, {"code": "NEVER_SEEN", "message": "What?", "details": {"x": 1}, "requestId": "req_1"}))
    assert type(newer) is atoll.AtollError and newer.code == "NEVER_SEEN" and newer.details == {"x": 1}
    odd = error_of(answer(409, {"code": "TEXT_AMBIGUOUS", "message": "What?", "details": 7, "requestId": "req_1"}))
    assert type(odd) is atoll.AtollError and odd.details == 7
    proxy = error_of(answer(502, b"<html>"))
    assert isinstance(proxy, atoll.ServiceUnavailableError) and proxy.outcome == "unknown" and proxy.request_id == ""
    reason = {"code": "X", "message": "Y", "later": True}
    assert decoded(answer(200, dict(reason)), atoll.schemas.Reason.from_json) == atoll.schemas.Reason("X", "Y")
    for body in (b"{", b"[]", b'{"code": "X"}', b"null"):
        try:
            decoded(answer(200, body), atoll.schemas.Reason.from_json)
            raise AssertionError(f"{body!r} was read.")
        except atoll.UnreadableAnswer:
            pass


def patience() -> None:
    unknown = atoll.ConnectionError("Cut.", "unknown")
    never = atoll.ConnectionError("Refused.", "notApplied")
    limited = error_of(answer(429, {"code": "RATE_LIMITED", "message": "Wait."}, {"Retry-After": "2"}))
    stopped = error_of(answer(502, {"code": "SANDBOX_UNAVAILABLE", "message": "No.", "details": {"status": "stopped"}}))
    missing = error_of(answer(404, {"code": "NOT_FOUND", "message": "No."}))
    assert Patience(60).pause_after(unknown, is_repeatable=False) is None
    assert Patience(60).pause_after(unknown, is_repeatable=True) is not None
    assert Patience(60).pause_after(never, is_repeatable=False) is not None
    assert Patience(0).pause_after(never, is_repeatable=True) is None
    told = Patience(60).pause_after(limited, is_repeatable=False)
    assert told is not None and 2 <= told < 2.1, told
    assert Patience(1).pause_after(limited, is_repeatable=True) is None
    assert Patience(60).pause_after(stopped, is_repeatable=True) is None
    assert Patience(60).pause_after(missing, is_repeatable=True) is None
    long = Patience(3600)
    pauses = [long.pause_after(unknown, is_repeatable=True) or 0 for _ in range(12)]
    assert pauses[0] <= 0.1 and max(pauses) <= 5, pauses


def echo_once(listening: socket.socket, context: ssl.SSLContext) -> None:
    connected, _ = listening.accept()
    with context.wrap_socket(connected, server_side=True) as sealed:
        data = sealed.recv(65_536)
        while data:
            sealed.sendall(data)
            data = sealed.recv(65_536)


async def tls() -> None:
    """What one end reads while another thread or task writes."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(os.environ["CERTIFICATE"], os.environ["PRIVATE_KEY"])
    trusting = ssl.create_default_context(cafile=os.environ["CERTIFICATE"])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=echo_once, args=(listening, serving), daemon=True).start()
        wire = await AsyncWire.connect("localhost", listening.getsockname()[1], trusting, 60)
        sent = os.urandom(2_000_000)

        async def send() -> None:
            for at in range(0, len(sent), 10_000):
                await wire.write(sent[at : at + 10_000])

        sending = AsyncBackground(send)
        received = b""
        while len(received) < len(sent):
            piece = await wire.read(60)
            assert piece, "It ended early."
            received += piece
        await sending.result()
        assert received == sent
        await wire.aclose()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=refused, args=(listening, serving), daemon=True).start()
        try:
            await AsyncWire.connect("localhost", listening.getsockname()[1], ssl.create_default_context(), 60)
            raise AssertionError("It trusted an unknown server.")
        except ssl.SSLCertVerificationError:
            pass


def refused(listening: socket.socket, context: ssl.SSLContext) -> None:
    connected, _ = listening.accept()
    try:
        context.wrap_socket(connected, server_side=True).close()
    except OSError:
        connected.close()


async def memory() -> None:
    """The bytes read of a large file are freed with their holder, with or without the collector of cycles."""
    answers: List["weakref.ref[httpx.Response]"] = []

    def answer(request: httpx.Request) -> httpx.Response:
        made = httpx.Response(200, content=b"piece", headers={"x-service-eof": "true"})
        answers.append(weakref.ref(made))
        return made

    gc.disable()
    try:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
            atoll_client = AsyncAtoll(api_key="key", http_client=http)
            assert (await atoll_client.api.read_file("sbx_1", path="/workspace/large")).data == b"piece"
        assert [made() for made in answers] == [None]
    finally:
        gc.enable()


async def misuse() -> None:
    """What no type checker was asked about is refused before anything is asked of the service."""
    asked: List[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(500)

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        anything: Any = AsyncAtoll(api_key="key", http_client=http, patience_seconds=0)
        files: Any = AsyncFiles(anything.api, "sbx_1")
        sandbox: Any = AsyncSandbox(anything.api, SimpleNamespace(id="sbx_1", workspace_id="wsp_1"))  # type: ignore[arg-type]
        await refused_with(TypeError, lambda: sandbox.run("echo hi"))
        await refused_with(TypeError, lambda: files.write("twelve", 12))
        await refused_with(FileNotFoundError, lambda: files.upload("/not/there", "made/by/it"))
        assert asked == []
    for url in ("127.0.0.1:8080", "localhost:8080"):
        try:
            AsyncAtoll(api_key="key", url=url)
            raise AssertionError("It took a URL that is none.")
        except ValueError as error:
            assert url in str(error)


async def refused_with(kind: Type[Exception], work: Callable[[], Any]) -> None:
    try:
        await work()
    except kind:
        return
    raise AssertionError(f"It was not refused with {kind.__name__}.")


class AsyncSlowConnection:
    """Gives a terminal more than it may hold unread. A pause takes so long to send that a resume could come before it."""

    def __init__(self) -> None:
        self.sent: List[str] = []
        self.pausing = AsyncGate()
        self.resumed = AsyncGate()
        self._left = 5

    async def receive(self) -> Union[bytes, str]:
        if self._left > 0:
            self._left -= 1
            return b"x" * 64 * 1024
        await self.resumed.passed()
        return '{"type":"exit","exitCode":0,"signal":null}'

    async def send(self, message: str) -> None:
        control = json.loads(message)["type"]
        if control == "pause":
            self.pausing.open()
            await asyncio.sleep(0.2)
        self.sent.append(control)
        if control == "resume":
            self.resumed.open()

    async def aclose(self) -> None:
        pass


async def terminal_controls() -> None:
    """A pause is sent before the resume that was decided after it: the other way round the shell would stand still for ever."""
    connection = AsyncSlowConnection()
    anything: Any = connection
    terminal = AsyncTerminal(anything)
    await connection.pausing.passed()
    read = b"".join([piece async for piece in terminal.output()])
    assert len(read) == 5 * 64 * 1024
    assert connection.sent == ["pause", "resume"], connection.sent
    await terminal.close()


async def main() -> None:
    harmful_archives()
    exact_archives()
    await memory()
    await misuse()
    await terminal_controls()
    frames()
    events()
    answers()
    patience()
    await tls()


asyncio.run(main())
