"""A file of this machine as the body of a request."""

from typing import Iterator

_PIECE_BYTES = 1024 * 1024


def file_pieces(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while piece := file.read(_PIECE_BYTES):
            yield piece
