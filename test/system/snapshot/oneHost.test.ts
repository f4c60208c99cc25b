/** 500 snapshots on one host, and a service that is killed beside them. */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Atoll, AtollError, type SnapshotHandle } from "../../../clients/typescript/src/index.ts"
import { newSecret } from "../../../src/account/ApiKeySecret.ts"
import { isRoot, skipped, unusable } from "../../support/host/namespace/TestHost.ts"
import { serviceIn } from "../../support/ServiceIn.ts"
import { testFolder } from "../../support/testFolder.ts"
import { untilSeen } from "../../support/until.ts"

const count = 500
const atOnce = 4
const looked = 5

/** Takes the items, some at a time. */
const eachOf = <A>(items: ReadonlyArray<A>, act: (item: A) => Promise<unknown>) => {
  const left = [...items]
  return Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await act(item)
    })
  )
}

describe.skipIf(skipped(unusable ?? (isRoot ? null : "snapshots need root")))("500 snapshots on one host", () => {
  it.live(
    "are each of their instant, outlive a killed service, and leave nothing when they are deleted",
    () =>
      Effect.gen(function* () {
        const key = newSecret()
        const dataDir = join(yield* testFolder, "data")
        const service = yield* serviceIn(dataDir, key, { ATOLL_SNAPSHOTS_PER_ACCOUNT: String(count) })
        const first = yield* service.start
        /** The number in the file of each. */
        const numbers = new Map<string, number>()
        yield* Effect.promise(async () => {
          const atoll = new Atoll({ apiKey: key, url: `http://127.0.0.1:${first.port}` })
          const sources = await Promise.all(
            Array.from({ length: atOnce }, () => atoll.sandboxes.create({ networkEnabled: false }))
          )
          let last = 0
          await Promise.all(
            sources.map(async (source) => {
              while (last < count) {
                const number = ++last
                await source.files.write("number", String(number))
                numbers.set((await source.snapshot()).id, number)
              }
            })
          )
          assert.strictEqual(numbers.size, count)
          const refused = await sources[0]!.snapshot().catch((error: unknown) => error)
          assert.instanceOf(refused, AtollError)
          assert.strictEqual(refused.code, "SNAPSHOT_LIMIT_REACHED")
          first.child.kill("SIGKILL")
        })
        const second = yield* service.start
        yield* Effect.promise(async () => {
          const atoll = new Atoll({ apiKey: key, url: `http://127.0.0.1:${second.port}` })
          const listed: Array<SnapshotHandle> = []
          for await (const snapshot of atoll.snapshots.list()) listed.push(snapshot)
          assert.sameMembers(
            listed.map(({ id, status }) => `${id} ${status}`),
            [...numbers.keys()].map((id) => `${id} ready`)
          )
          for (const snapshot of listed.filter((_, at) => at % (count / looked) === 0)) {
            const copy = await atoll.sandboxes.create({ snapshot, networkEnabled: false })
            assert.strictEqual(await copy.files.readText("number"), String(numbers.get(snapshot.id)))
            await copy.delete()
          }
          const folder = join(dataDir, "runtime", "namespace", ".snapshots")
          assert.lengthOf(
            readdirSync(folder).filter((name) => name.endsWith(".img")),
            count
          )
          await eachOf(listed, (snapshot) => snapshot.delete())
          await untilSeen(
            () => readdirSync(folder),
            (names) => names.length === 0
          )
        })
      }).pipe(Effect.scoped),
    300_000
  )
})
