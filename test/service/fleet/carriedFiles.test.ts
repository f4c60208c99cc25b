/** Snapshots of a fleet as files: exported from the host that has them, imported to a host of their kind. */
import { Readable } from "node:stream"
import { buffer } from "node:stream/consumers"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeRefused } from "../../../src/runtime/Runtime.ts"
import { type AskedImport, Snapshots } from "../../../src/snapshot/Snapshots.ts"
import { fresh } from "../../support/fleet/fresh.ts"
import { snapshotFile } from "../../support/snapshot/snapshotFile.ts"
import { newAccount } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn, untilStatus } from "../../support/TestSandboxes.ts"
import { until } from "../../support/until.ts"
import { WorldFleet } from "./WorldFleet.ts"

const settings = { ATOLL_VOLUME_BYTES: String(4 * 1024 ** 2) }

const asked = (
  { accountId, workspaceId }: { readonly accountId: string; readonly workspaceId: string },
  bytes: Readable | Buffer
): AskedImport => ({
  ...{ accountId, workspaceId, requestId: "req_test", idempotencyKey: null, name: null, expiresAt: null },
  body: bytes instanceof Readable ? bytes : Readable.from([bytes])
})

const untilReady = Effect.fnUntraced(function* (accountId: string, id: string) {
  const snapshots = yield* Snapshots
  return yield* until(snapshots.get(accountId, id), ({ status }) => status === "ready")
})

const hostOf = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly hostId: string }>`
    select snapshot -> 'context' ->> 'hostId' as "hostId" from actors where id = ${id}`
  return row!.hostId
})

layer(TestDatabase.layer, { excludeTestServices: true })("the file of a snapshot in a fleet", (it) => {
  const within = <A, E, R>(test: (fleet: WorldFleet) => Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      yield* fresh
      const fleet = new WorldFleet()
      yield* fleet.add({ id: "host_a" })
      yield* fleet.add({ id: "host_b", diskBytes: 1e14 })
      return yield* test(fleet).pipe(Effect.provide(fleet.service(settings)))
    })

  it.effect("comes from the snapshot's host and makes a snapshot on a host with room", () =>
    within((fleet) =>
      Effect.gen(function* () {
        const snapshots = yield* Snapshots
        const account = yield* newAccount
        const { accountId } = account
        const { id } = (yield* createIn(account)).sandbox
        yield* untilStatus(accountId, id, "running")
        const request = { name: "kept", memory: false, expiresAt: null }
        const options = { requestId: "req_test", idempotencyKey: null, fingerprint: "f", request }
        const snapshot = yield* snapshots.create(accountId, id, options)
        yield* untilReady(accountId, snapshot.id)
        const file = yield* snapshots.export(accountId, snapshot.id, 0)
        const bytes = yield* Effect.promise(() => buffer(file.bytes))

        // The emptiest host refuses it before it reads a byte.
        fleet.worlds.get("host_a")!.intercept = (call) =>
          call === "receive"
            ? Effect.fail(new RuntimeRefused({ code: "HOST_FULL", message: publicText`No room.` }))
            : Effect.void
        const copy = yield* snapshots.import(asked(account, bytes))
        yield* untilReady(accountId, copy.id)
        assert.strictEqual(yield* hostOf(copy.id), "host_b")
        assert.isTrue(fleet.worlds.get("host_b")!.snapshots.has(copy.id))
        const [piece] = fleet.worlds.get("host_b")!.imported.get(copy.id)!
        assert.strictEqual(Buffer.from(piece!.bytes).toString().slice(0, id.length), id)
        fleet.cut.add(yield* hostOf(snapshot.id))
        const away = yield* Effect.flip(snapshots.export(accountId, snapshot.id, 0))
        assert.strictEqual(away._tag, "SERVICE_UNAVAILABLE")

        yield* fleet.add({ id: "host_vm", kind: "vm" })
        const ofVm = yield* snapshots.import(
          asked(account, yield* Effect.promise(() => snapshotFile({ runtime: "vm" })))
        )
        assert.strictEqual(yield* hostOf(ofVm.id), "host_vm")
      })
    )
  )

  it.effect("leaves nothing where it breaks off or its host does not answer", () =>
    within((fleet) =>
      Effect.gen(function* () {
        const snapshots = yield* Snapshots
        const account = yield* newAccount
        const whole = yield* Effect.promise(() => snapshotFile({}, [{ offset: 0, bytes: Buffer.alloc(8192, "x") }]))
        const broken = yield* Effect.flip(snapshots.import(asked(account, whole.subarray(0, whole.length - 20))))
        assert.strictEqual(broken._tag, "INVALID_REQUEST")
        for (const id of fleet.worlds.keys()) fleet.cut.add(id)
        const away = yield* Effect.flip(snapshots.import(asked(account, whole)))
        assert.strictEqual(away._tag, "SERVICE_UNAVAILABLE")
        for (const id of fleet.worlds.keys()) yield* fleet.becomes(id, "lost")
        const nowhere = yield* Effect.flip(snapshots.import(asked(account, whole)))
        assert.strictEqual(nowhere._tag, "SERVICE_UNAVAILABLE")
        const noFilter = { sandboxId: null, status: null, limit: 10, cursor: null }
        assert.deepStrictEqual((yield* snapshots.list(account.accountId, noFilter)).snapshots, [])
        for (const { imported } of fleet.worlds.values()) assert.strictEqual(imported.size, 0)
      })
    )
  )

  it.effect("is one of at most four exports and imports of an account; each gives its permit back", () =>
    within(() =>
      Effect.gen(function* () {
        const snapshots = yield* Snapshots
        const account = yield* newAccount
        const file = yield* Effect.promise(() => snapshotFile())
        const made = yield* snapshots.import(asked(account, file))
        yield* untilReady(account.accountId, made.id)
        const open = yield* Effect.forEach([1, 2, 3, 4], () => snapshots.export(account.accountId, made.id, 0))
        const refused = yield* Effect.flip(snapshots.export(account.accountId, made.id, 0))
        assert.strictEqual(refused._tag, "RATE_LIMITED")
        assert.strictEqual((yield* Effect.flip(snapshots.import(asked(account, file))))._tag, "RATE_LIMITED")
        const other = yield* newAccount
        yield* snapshots.import(asked(other, file))
        open[0]!.bytes.destroy()
        yield* Effect.promise(() => buffer(open[1]!.bytes))
        const again = snapshots.export(account.accountId, made.id, 0)
        const [third, fourth] = yield* Effect.all([
          until(Effect.result(again), ({ _tag }) => _tag === "Success"),
          again
        ])
        assert.strictEqual(third._tag, "Success")
        for (const { bytes } of [open[2]!, open[3]!, fourth]) bytes.destroy()
      })
    )
  )
})
