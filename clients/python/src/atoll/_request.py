"""A request for one operation of the description, before it is sent anywhere."""

from __future__ import annotations

import json as _json
from dataclasses import dataclass, field
from typing import Any, AsyncIterable, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union
from urllib.parse import quote

from ._given import given

_REPEATABLE = frozenset(
    {
        "deleteSandbox",
        "deleteSnapshot",
        "deleteImage",
        "stopSandbox",
        "waitOperation",
        "cancelOperation",
        "closePreview",
        "closePreviews",
        "lookUpPreview",
        "lookUpServiceAccess",
        "revokeServiceAccess",
    }
)
"""The same when repeated, by the contract."""

AsyncBody = Union[bytes, Callable[[], AsyncIterable[bytes]]]
"""Or a function that makes its pieces, once for each attempt."""

Body = Union[bytes, Callable[[], Iterable[bytes]]]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@dataclass(frozen=True)
class Request:
    """Parameters that are None are not sent."""

    operation: str
    """As the description names it."""
    method: str
    template: str
    """The path, with `{names}`."""
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    """A mapping among them stands for separate pairs."""
    headers: Mapping[str, Optional[str]] = field(default_factory=dict)
    json: Optional[Mapping[str, Any]] = None
    content: Union[AsyncBody, Body, None] = None
    content_type: str = "application/octet-stream"

    @property
    def is_repeatable(self) -> bool:
        """Whether a repetition applies nothing twice."""
        has_key = self.headers.get("Idempotency-Key") is not None
        return self.method == "GET" or has_key or self.operation in _REPEATABLE

    @property
    def filled_path(self) -> str:
        return self.template.format(**{name: quote(value, safe="") for name, value in self.path.items()})

    @property
    def parameters(self) -> Tuple[Tuple[str, str], ...]:
        pairs: List[Tuple[str, str]] = []
        for name, value in self.query.items():
            if isinstance(value, Mapping):
                pairs.extend((key, _text(one)) for key, one in value.items())
            elif isinstance(value, (list, tuple)):
                # Repeated, for a value may have commas.
                pairs.extend((name, _text(one)) for one in value)
            elif value is not None:
                pairs.append((name, _text(value)))
        return tuple(pairs)

    @property
    def body(self) -> Union[bytes, Iterable[bytes], AsyncIterable[bytes], None]:
        """Of one attempt."""
        if self.json is not None:
            return _json.dumps(given(self.json), ensure_ascii=False, allow_nan=False).encode()
        return self.content() if callable(self.content) else self.content

    @property
    def sent_headers(self) -> Dict[str, str]:
        sent = {name: value for name, value in self.headers.items() if value is not None}
        if self.json is not None:
            sent["Content-Type"] = "application/json"
        elif self.content is not None:
            sent["Content-Type"] = self.content_type
        return sent


@dataclass(frozen=True)
class Content:
    """The bytes of an answer."""

    data: bytes
    headers: Mapping[str, str]
    """In lower case."""
