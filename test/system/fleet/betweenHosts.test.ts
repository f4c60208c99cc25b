/** Snapshots travel between two real hosts: for a Sandbox whose snapshot's host is drained, over a link that breaks in between, and as a file. */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Atoll } from "../../../clients/typescript/src/index.ts"
import { newSecret } from "../../../src/account/ApiKeySecret.ts"
import { atoll } from "../../support/commandLine.ts"
import { Fleet } from "../../support/fleet/Fleet.ts"
import type { HostProcess } from "../../support/fleet/HostProcess.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { untilSeen } from "../../support/until.ts"
import { refusal } from "./refusal.ts"

const mebibyte = 1024 ** 2

/** An image that arrives there now. */
const receivedAt = ({ dataDir }: HostProcess): ReadonlyArray<string> =>
  readdirSync(dataDir, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".receiving"))

describe.skipIf(refusal !== null)("snapshots between hosts", () => {
  it.live(
    "start a Sandbox with the same files on another host, also when the link breaks in the middle",
    () =>
      Effect.gen(function* () {
        const key = newSecret()
        const environment = { ATOLL_VOLUME_BYTES: String(1024 * mebibyte) }
        const fleet = yield* Fleet.make({ key, services: 1, environment })
        const service = fleet.services[0]!
        const client = new Atoll({ apiKey: key, url: `http://${service.host}:${service.port}`, patienceSeconds: 30 })
        const homeOf = (id: string) => fleet.hosts.find(({ alive }) => alive.some(({ sandboxId }) => sandboxId === id))!
        const write = "head -c 200000000 /dev/urandom > big; echo of-then > note; sha256sum big note > sums; sync"
        const { source, snapshot } = yield* Effect.promise(async () => {
          const source = await client.sandboxes.create({})
          const made = await source.run(["sh", "-c", write])
          assert.strictEqual(made.exitCode, 0)
          return { source, snapshot: await source.snapshot({ name: "then" }) }
        })
        const [home, other] = fleet.hosts[0] === homeOf(source.id) ? fleet.hosts : fleet.hosts.toReversed()
        assert.strictEqual((yield* atoll("hosts", "drain", home!.id)).code, 0)
        const child = yield* Effect.promise(async () => {
          const creating = client.sandboxes.create({ snapshotId: snapshot.id })
          await untilSeen(
            async () => receivedAt(other!),
            ({ length }) => length === 1
          )
          await fleet.net.cut("service-0", home!.name)
          await untilSeen(
            async () => receivedAt(other!),
            ({ length }) => length === 0
          )
          await fleet.net.heal()
          return await creating
        })
        assert.strictEqual(homeOf(child.id), other)
        yield* Effect.promise(async () => {
          const same = await child.run(["sh", "-c", "sha256sum -c sums && cat note"])
          assert.include(same.stdout, "of-then")
          assert.strictEqual(same.exitCode, 0)
          const path = join(fleet.folder, "then.atoll")
          await snapshot.export(path)
          const copy = await client.snapshots.import(path)
          const third = await client.sandboxes.create({ snapshotId: copy.id })
          assert.strictEqual((await third.run(["sha256sum", "-c", "sums"])).exitCode, 0)
          await snapshot.delete()
          await untilSeen(
            async () => readdirSync(other!.dataDir, { recursive: true, encoding: "utf8" }),
            (names) => !names.some((name) => name.includes(snapshot.id))
          )
        })
      }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer)),
    180_000
  )
})
