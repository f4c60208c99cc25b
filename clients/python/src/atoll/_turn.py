"""One after the other: `async with` for tasks, `with` for threads."""

import asyncio
import threading

AsyncTurn = asyncio.Lock
Turn = threading.Lock
