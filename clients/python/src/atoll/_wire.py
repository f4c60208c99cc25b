"""One TCP connection, with TLS where the URL says so."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from typing import Optional

_READ_BYTES = 64 * 1024
_ASYNC_READ_BYTES = 256 * 1024
"""As much as asyncio receives in one call. With less, it pauses and resumes the socket for each: 1.5 s of CPU a GiB, and 0.45 with it."""


class AsyncWire:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._turn = asyncio.Lock()

    @classmethod
    async def connect(
        cls, host: str, port: int, tls: Optional[ssl.SSLContext], seconds: float, server_name: Optional[str] = None
    ) -> AsyncWire:
        """Fails with OSError, or TimeoutError. server_name: of TLS; by default the host."""
        name = (server_name or host) if tls is not None else None
        opening = asyncio.open_connection(host, port, ssl=tls, server_hostname=name, limit=_ASYNC_READ_BYTES)
        try:
            reader, writer = await asyncio.wait_for(opening, seconds)
        except asyncio.TimeoutError as thrown:
            raise TimeoutError(f"not connected within {seconds:g} s") from thrown
        return cls(reader, writer)

    async def read(self, seconds: Optional[float] = None) -> bytes:
        """What is there; empty at the end."""
        try:
            return await asyncio.wait_for(self._reader.read(_ASYNC_READ_BYTES), seconds)
        except asyncio.TimeoutError as thrown:
            raise TimeoutError(f"nothing came within {seconds} s") from thrown

    async def write(self, data: bytes) -> None:
        """Returns when there is room for more."""
        self._writer.write(data)
        async with self._turn:
            await self._writer.drain()

    async def write_eof(self) -> None:
        """Nothing more will be written; what comes is still read. Not with TLS."""
        async with self._turn:
            self._writer.write_eof()

    async def aclose(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            pass


class Wire:
    """For one thread that reads, and any number that write."""

    def __init__(self, connected: socket.socket, tls: Optional[ssl.SSLContext], host: str) -> None:
        self._socket = connected
        self._writing = threading.Lock()
        # OpenSSL's own state is not for two threads at once: the bytes go through memory, and only that is locked.
        self._sealing = threading.Lock()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = None
        if tls is not None:
            self._tls = tls.wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    @classmethod
    def connect(
        cls, host: str, port: int, tls: Optional[ssl.SSLContext], seconds: float, server_name: Optional[str] = None
    ) -> Wire:
        connected = socket.create_connection((host, port), seconds)
        wire = cls(connected, tls, server_name or host)
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            wire._shake_hands()
        except BaseException:
            connected.close()
            raise
        connected.settimeout(None)
        return wire

    def _shake_hands(self) -> None:
        while self._tls is not None:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._send_sealed()
                self._take_sealed()
        self._send_sealed()

    def _send_sealed(self) -> None:
        data = self._outgoing.read()
        if data:
            self._socket.sendall(data)

    def _take_sealed(self) -> None:
        data = self._socket.recv(_READ_BYTES)
        with self._sealing:
            if data:
                self._incoming.write(data)
            else:
                self._incoming.write_eof()

    def read(self, seconds: Optional[float] = None) -> bytes:
        if seconds is not None:
            self._socket.settimeout(seconds)
        try:
            return self._read()
        finally:
            if seconds is not None:
                self._socket.settimeout(None)

    def _read(self) -> bytes:
        if self._tls is None:
            return self._socket.recv(_READ_BYTES)
        while True:
            try:
                with self._sealing:
                    return self._tls.read(_READ_BYTES)
            except ssl.SSLWantReadError:
                self._take_sealed()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""

    def write(self, data: bytes) -> None:
        with self._writing:
            if self._tls is None:
                self._socket.sendall(data)
                return
            with self._sealing:
                self._tls.write(data)
                sealed = self._outgoing.read()
            self._socket.sendall(sealed)

    def write_eof(self) -> None:
        with self._writing:
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        # A thread that reads is woken by this, and not by closing alone.
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()
