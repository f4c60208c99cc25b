/** A migration of a database fails halfway, and the Sandbox is rolled back to the files before it: `node migration.ts`. */
import { Atoll } from "@atoll/client"

const python = (lines: ReadonlyArray<string>) =>
  ["python3", "-c", ["import sqlite3", "db = sqlite3.connect('shop.db')", ...lines].join("\n")] as const
const count = python(["print(db.execute('select count(*) from orders').fetchone()[0])"])

await using sandbox = await new Atoll().sandboxes.create()
await sandbox.run(
  python([
    "db.execute('create table orders (id)')",
    "db.executemany('insert into orders values (?)', [(1,), (2,), (3,)])",
    "db.commit()"
  ])
)
const before = await sandbox.snapshot({ name: "before the migration" })

const migration = await sandbox.run(python(["db.execute('delete from orders')", "db.commit()", "db.execute('oops')"]))
console.log(`migration: exit code ${migration.exitCode}, ${(await sandbox.run(count)).stdout.trim()} orders left`)
if (migration.exitCode !== 0) {
  const broken = await sandbox.rollback(before)
  console.log(`rolled back: ${(await sandbox.run(count)).stdout.trim()} orders`)
  console.log(`to look at what failed: ${broken?.id} until ${broken?.record.expiresAt}`)
}
