"""Where the files of a Sandbox are."""

WORKSPACE = "/workspace"


def absolute(path: str) -> str:
    """Relative paths begin in /workspace."""
    if path.startswith("/"):
        return path
    return WORKSPACE if path in (".", "") else f"{WORKSPACE}/{path}"
