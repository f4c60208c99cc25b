"""Usage, costs and remaining credit."""

from __future__ import annotations

from typing import AsyncIterator, Literal, Optional

from ..schemas import Balance, CostReport, WalletTransaction
from ..schemas import Usage as UsageRecord
from .api import AsyncApi
from .paged import paged


class AsyncUsage:
    """Windows are RFC 3339, `from_` inclusive and `to` exclusive; by default this UTC month."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def read(self, *, from_: Optional[str] = None, to: Optional[str] = None) -> UsageRecord:
        return (await self._api.read_usage(from_=from_, to=to)).usage

    async def balance(self) -> Balance:
        return (await self._api.read_balance()).balance

    async def costs(
        self,
        *,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        group_by: Optional[Literal["sandbox", "day", "workspace"]] = None,
        sandbox_id: Optional[str] = None,
    ) -> CostReport:
        return await self._api.read_costs(from_=from_, to=to, group_by=group_by, sandbox_id=sandbox_id)

    async def transactions(self) -> AsyncIterator[WalletTransaction]:
        """Newest first; requests the next page by itself."""
        ask = self._api.list_transactions
        async for page in paged(lambda cursor: ask(cursor=cursor)):
            for transaction in page.transactions:
                yield transaction
