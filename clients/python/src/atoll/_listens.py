"""Whether a program in a Sandbox takes connections on a port."""

from __future__ import annotations

from typing import List

# The kernel writes an address as words in the order of the machine: any address, or loopback, of both families.
_ADDRESSES = (
    "00000000",
    "0100007F",
    "00000000000000000000000000000000",
    "00000000000000000000000001000000",
    "0000000000000000FFFF00000100007F",
)


def listens_command(port: int) -> List[str]:
    """Ends with 0 if one does. It reads the kernel's table, so that it needs any shell alone, and connects to nothing."""
    sockets = "|".join(f"{address}:{port:04X}\\ 0A" for address in _ADDRESSES)
    probe = (
        f'while read -r _ local _ state _; do case "$local $state" in {sockets}) exit 0;; esac; done'
    )
    return ["sh", "-c", f"for table in tcp tcp6; do {probe} </proc/net/$table; done 2>/dev/null; exit 1"]
