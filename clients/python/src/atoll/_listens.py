"""Whether a program in a Sandbox takes connections on a port."""

from __future__ import annotations

from typing import List


def listens_command(port: int) -> List[str]:
    """Ends with 0 if one does. Bash opens the connection, and writes nothing to the listener."""
    probe = f"for host in 127.0.0.1 ::1; do (exec 3<>/dev/tcp/$host/{port}) 2>/dev/null && exit 0; done; exit 1"
    return ["bash", "-c", probe]
