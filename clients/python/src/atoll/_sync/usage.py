# Made by `npm run clients` from _async/usage.py. Not to be edited.
"""Usage, costs and remaining credit."""

from __future__ import annotations

from typing import Iterator, Literal, Optional

from ..schemas import Balance, CostReport, WalletTransaction
from ..schemas import Usage as UsageRecord
from .api import Api
from .paged import paged


class Usage:
    """Windows are RFC 3339, `from_` inclusive and `to` exclusive; by default this UTC month."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def read(self, *, from_: Optional[str] = None, to: Optional[str] = None) -> UsageRecord:
        return self._api.read_usage(from_=from_, to=to).usage

    def balance(self) -> Balance:
        return self._api.read_balance().balance

    def costs(
        self,
        *,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        group_by: Optional[Literal["sandbox", "day", "workspace"]] = None,
        sandbox_id: Optional[str] = None,
    ) -> CostReport:
        return self._api.read_costs(from_=from_, to=to, group_by=group_by, sandbox_id=sandbox_id)

    def transactions(self) -> Iterator[WalletTransaction]:
        """Newest first; requests the next page by itself."""
        ask = self._api.list_transactions
        for page in paged(lambda cursor: ask(cursor=cursor)):
            for transaction in page.transactions:
                yield transaction
