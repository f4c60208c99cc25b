/** The command line where no service ever ran: it makes the database, and leaves no server running. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { atollWith, withinMs } from "../../support/commandLine.ts"
import { testFolder } from "../../support/testFolder.ts"

it.live(
  "the command line works on a data folder without a service, also two concurrently",
  () =>
    Effect.gen(function* () {
      const folder = yield* testFolder
      const run = (...args: ReadonlyArray<string>) => atollWith({ ATOLL_DATA_DIR: join(folder, "data") }, ...args)
      const [account, key] = yield* Effect.all(
        [
          run("accounts", "create", "--name", "acme", "--billing", "prepaid", "--credit-usd", "12.50"),
          run("keys", "create", "--account", "other", "--scopes", "all")
        ],
        { concurrency: 2 }
      )
      assert.deepStrictEqual([account.code, key.code], [0, 0], account.stderr + key.stderr)
      const verified = yield* run("usage", "verify", "--json")
      assert.deepStrictEqual([verified.code, verified.stderr], [0, ""])
      assert.deepInclude(JSON.parse(verified.stdout), { accounts: 2, grants: 1, entries: 1, differences: [] })
      // Files that a server has while it runs.
      assert.deepStrictEqual(
        ["PG_VERSION", "postmaster.pid"].map((name) => existsSync(join(folder, "data/postgres/data", name))),
        [true, false]
      )
    }).pipe(Effect.scoped),
  withinMs
)
