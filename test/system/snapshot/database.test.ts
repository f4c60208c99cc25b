/** A database in a Sandbox that is forked while it is written to: each child recovers to a state that was true. */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Atoll, type SandboxHandle } from "../../../clients/typescript/src/index.ts"
import { newSecret } from "../../../src/account/ApiKeySecret.ts"
import { findBinaries } from "../../../src/ops/postgres/Binaries.ts"
import { isRoot, skipped, unusable } from "../../support/host/namespace/TestHost.ts"
import { serviceIn } from "../../support/ServiceIn.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testFolder } from "../../support/testFolder.ts"
import { untilFound } from "../../support/until.ts"

const MiB = 1024 ** 2
const forks = 20
const atOnce = 4

const server = `pg/bin/postgres -D data -c unix_socket_directories=/tmp -c listen_addresses= -c dynamic_shared_memory_type=mmap -c shared_buffers=16MB -c max_connections=5`

/** One number after the other, each in one transaction in both tables. It prints what was acknowledged. */
const writer = `
const socket = require("net").connect("/tmp/.s.PGSQL.5432")
const message = (kind, text) => {
  const body = Buffer.from(text)
  const size = Buffer.alloc(4)
  size.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(kind), size, body])
}
let number = 0
let held = Buffer.alloc(0)
socket.write(message("", "\\0\\x03\\0\\0user\\0postgres\\0database\\0postgres\\0\\0"))
socket.on("data", (bytes) => {
  held = Buffer.concat([held, bytes])
  while (held.length > 4 && held.length > held.readInt32BE(1)) {
    const kind = String.fromCharCode(held[0])
    const text = held.subarray(5, held.readInt32BE(1) + 1).toString("latin1")
    held = held.subarray(held.readInt32BE(1) + 1)
    if (kind === "E") throw new Error(text)
    if (kind !== "Z") continue
    if (number > 0) console.log(number)
    number++
    socket.write(message("Q", "begin; insert into a values (" + number + "); insert into b values (" + number + "); commit\\0"))
  }
})`

const shell = async (sandbox: SandboxHandle, script: string): Promise<string> => {
  const { exitCode, stdout, stderr } = await sandbox.run(["sh", "-c", script])
  assert.strictEqual(exitCode, 0, `${stdout}\n${stderr}`)
  return stdout
}

/** What a child has after its recovery: how many numbers, the largest of them, and how many are in only one table. */
const recovered = async (child: SandboxHandle): Promise<ReadonlyArray<number>> => {
  const query = `select count(a.n) as c, max(a.n) as m, count(*) filter (where a.n is null or b.n is null) as t from a full join b on a.n = b.n`
  const said = await shell(
    child,
    `rm -f data/postmaster.pid; echo "${query}" | pg/bin/postgres --single -D data postgres`
  )
  return ["c", "m", "t"].map((name) => Number(new RegExp(`\\d: ${name} = "(\\d+)"`).exec(said)?.[1]))
}

describe.skipIf(skipped(unusable ?? (isRoot ? null : "snapshots need root")))("a database in a Sandbox", () => {
  it.live(
    "recovers in each of twenty forks to a state that was true when it was forked, and goes on in the source",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestDatabase
        const key = newSecret()
        const root = yield* testFolder
        const service = yield* serviceIn(join(root, "data"), key, {
          DATABASE_URL: url,
          ATOLL_VOLUME_BYTES: String(512 * MiB)
        })
        const { port } = yield* service.start
        yield* Effect.promise(async () => {
          const atoll = new Atoll({ apiKey: key, url: `http://127.0.0.1:${port}` })
          const source = await atoll.sandboxes.create({ networkEnabled: false })
          await source.files.uploadDirectory(
            (await findBinaries(root, { name: "own", uid: 0, gid: 0, foreign: false })).folder,
            "pg"
          )
          await shell(source, "pg/bin/initdb -D data -U postgres -A trust --locale=C --data-checksums")
          await shell(
            source,
            `for t in a b; do echo "create table $t (n int primary key)"; done | pg/bin/postgres --single -D data postgres`
          )
          await source.start(["sh", "-c", server])
          await shell(source, "until [ -S /tmp/.s.PGSQL.5432 ]; do sleep 0.1; done")
          await source.start(["sh", "-c", `node -e '${writer}' > /tmp/acknowledged`])
          const acknowledged = async () => Number(await shell(source, "tail -n 2 /tmp/acknowledged | head -n 1"))
          await untilFound(async () => (await acknowledged()) > 10)

          const told: Array<string> = []
          const fork = async () => {
            const before = await acknowledged()
            const { snapshot, sandboxes } = await source.fork()
            const child = sandboxes[0]!
            const [count, largest, torn] = await recovered(child)
            const isTrue = count === largest && torn === 0 && count! >= before
            told.push(isTrue ? "true" : `${count} numbers to ${largest}, ${torn} in one table, ${before} acknowledged`)
            await child.delete()
            await snapshot.delete()
          }
          await Promise.all(
            Array.from({ length: atOnce }, async () => {
              for (let n = 0; n < forks / atOnce; n++) await fork()
            })
          )
          assert.deepStrictEqual(told, Array(forks).fill("true"))
          const last = await acknowledged()
          await untilFound(async () => (await acknowledged()) > last)
        })
      }).pipe(Effect.scoped, Effect.provide(TestDatabase.bare)),
    300_000
  )
})
