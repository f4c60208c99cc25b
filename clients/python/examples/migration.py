"""A migration of a database fails halfway, and the Sandbox is rolled back to the files before it: `python3 migration.py`."""

from typing import List

import atoll


def python(*lines: str) -> List[str]:
    return ["python3", "-c", "\n".join(["import sqlite3", "db = sqlite3.connect('shop.db')", *lines])]


COUNT = python("print(db.execute('select count(*) from orders').fetchone()[0])")
FILL = "db.executemany('insert into orders values (?)', [(1,), (2,), (3,)])"

with atoll.Atoll() as client, client.sandboxes.create() as sandbox:
    sandbox.run(python("db.execute('create table orders (id)')", FILL, "db.commit()"))
    before = sandbox.snapshot(name="before the migration")

    migration = sandbox.run(python("db.execute('delete from orders')", "db.commit()", "db.execute('oops')"))
    left = sandbox.run(COUNT).stdout.strip()
    print(f"migration: exit code {migration.exit_code}, {left} orders left")
    if migration.exit_code != 0:
        broken = sandbox.rollback(before)
        print(f"rolled back: {sandbox.run(COUNT).stdout.strip()} orders")
        if broken is not None:
            print(f"to look at what failed: {broken.id} until {broken.record.expires_at}")
