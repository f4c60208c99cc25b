"""Distinguishes a field that is not given from None: in a change, None removes."""

from __future__ import annotations

import enum
from typing import Any, Dict, Mapping, Optional, TypeVar, Union

T = TypeVar("T")


class _Unset(enum.Enum):
    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


UNSET = _Unset.UNSET
"""Not given."""

Given = Union[T, _Unset]
"""A value, or UNSET."""


def unless_none(value: Optional[T]) -> Given[T]:
    return UNSET if value is None else value


def given(fields: Mapping[str, Any]) -> Dict[str, Any]:
    """The given fields, as JSON has them."""
    return {name: _plain(value) for name, value in fields.items() if value is not UNSET}


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value
