/** What becomes of uploaded images when the hosts that have them leave, are lost, or lose them. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { removeHost } from "../../../src/fleet/askHost.ts"
import { Hosts } from "../../../src/fleet/Hosts.ts"
import { Images } from "../../../src/image/Images.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { fresh } from "../../support/fleet/fresh.ts"
import { fleetService, untilHost, WorldHost } from "../../support/fleet/SupervisedWorlds.ts"
import { newAccount } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { untilStatus } from "../../support/TestSandboxes.ts"
import { until } from "../../support/until.ts"

async function* archive(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("an archive")
}

const asked = { requestId: "req_test", idempotencyKey: null }

type Account = Effect.Success<typeof newAccount>

const untilImage = Effect.fnUntraced(function* (accountId: string, imageId: string, status: string) {
  const images = yield* Images
  return yield* until(images.get(accountId, imageId), (image) => image.status === status)
})

const uploaded = Effect.fnUntraced(function* ({ accountId }: Account) {
  const { id } = yield* (yield* Images).upload({ ...asked, accountId, name: null, body: archive() })
  const { digest } = yield* untilImage(accountId, id, "ready")
  return { id, digest: digest! }
})

const created = Effect.fnUntraced(function* ({ accountId, workspaceId }: Account, imageId: string) {
  const sandboxes = yield* Sandboxes
  const request = { workspaceId, name: null, networkEnabled: false, metadata: {}, env: {}, lifetime: null, imageId }
  return yield* sandboxes.create({ ...asked, accountId, fingerprint: "f", request })
})

const eventsOf = Effect.fnUntraced(function* (accountId: string, imageId: string) {
  const { transitions } = yield* (yield* Images).transitions(accountId, imageId, { limit: 20, cursor: null })
  return transitions.map(({ event }) => (event as { readonly type: string }).type)
})

layer(TestDatabase.layer, { excludeTestServices: true })("an uploaded image", (it) => {
  it.effect("leaves a host that is drained, which is removed without force, and boots elsewhere", () =>
    Effect.gen(function* () {
      yield* fresh
      const [leaving, taking] = [yield* WorldHost.make("host_leaves"), yield* WorldHost.make("host_takes")]
      yield* Effect.gen(function* () {
        const hosts = yield* Hosts
        yield* Effect.forkScoped(leaving.live)
        yield* untilHost(leaving.id, "ready")
        const account = yield* newAccount
        const { id, digest } = yield* uploaded(account)
        yield* hosts.ask(leaving.id, "DRAIN")
        const counted = (onlyHere: number) =>
          until(hosts.find(leaving.id), (host) => host?.state === "draining" && host.imagesOnlyHere === onlyHere)
        const refused = yield* Effect.flip(removeHost((yield* counted(1))!, false))
        assert.include(refused.message, "has 1 uploaded image, which is lost with it: wait until atoll hosts list says")
        yield* Effect.forkScoped(taking.live)
        yield* untilHost(taking.id, "ready")
        const drained = (yield* counted(0))!
        assert.deepStrictEqual([...taking.world.images], [digest])
        assert.isTrue(leaving.world.images.has(digest))
        yield* removeHost(drained, false)
        // The host of before is not asked.
        leaving.isCut = true
        const { sandbox } = yield* created(account, id)
        yield* untilStatus(account.accountId, sandbox.id, "running")
        assert.isTrue(taking.world.machines.has(sandbox.id))
        assert.deepStrictEqual(yield* eventsOf(account.accountId, id), ["CREATED", "PULLED"])
      }).pipe(Effect.scoped, Effect.provide(fleetService([leaving, taking])))
    })
  )

  it.effect(
    "fails when its only host is lost, is ready again with that host, and fails for good with its removal",
    () =>
      Effect.gen(function* () {
        yield* fresh
        const host = yield* WorldHost.make("host_away")
        yield* Effect.gen(function* () {
          const hosts = yield* Hosts
          const beats = yield* Effect.forkScoped(host.live)
          yield* untilHost(host.id, "ready")
          const account = yield* newAccount
          const { accountId } = account
          const { id } = yield* uploaded(account)

          yield* Fiber.interrupt(beats)
          host.isCut = true
          yield* untilHost(host.id, "lost")
          assert.strictEqual((yield* untilImage(accountId, id, "failed")).statusReason?.code, "IMAGE_LOST")
          const refused = yield* Effect.flip(created(account, id))
          assert.deepInclude(refused, { _tag: "IMAGE_NOT_READY", details: { status: "failed" } })
          // It is lost with the host only once that is removed.
          const still = yield* until(hosts.find(host.id), (row) => row?.imagesOnlyHere === 1)
          assert.include((yield* Effect.flip(removeHost(still!, false))).message, "have their owners delete them first")

          host.isCut = false
          const again = yield* Effect.forkScoped(host.live)
          assert.isNull((yield* untilImage(accountId, id, "ready")).statusReason)
          yield* untilHost(host.id, "ready")

          yield* Fiber.interrupt(again)
          host.isCut = true
          yield* hosts.ask(host.id, "REMOVE_FORCED")
          yield* untilHost(host.id, "gone")
          yield* untilImage(accountId, id, "failed")
          assert.deepStrictEqual(yield* eventsOf(accountId, id), [
            ...["CREATED", "PULLED", "IMAGE_LOST", "IMAGE_FOUND", "IMAGE_LOST"]
          ])
          yield* (yield* Images).remove(accountId, id, { requestId: "req_test" })
          yield* untilImage(accountId, id, "deleted")
        }).pipe(Effect.scoped, Effect.provide(fleetService([host])))
      })
  )

  it.effect("stays ready while its only host is silent, and while another host has it", () =>
    Effect.gen(function* () {
      yield* fresh
      const [first, second] = [yield* WorldHost.make("host_silent"), yield* WorldHost.make("host_other")]
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const beats = yield* Effect.forkScoped(first.live)
        yield* untilHost(first.id, "ready")
        const account = yield* newAccount
        const { accountId } = account
        const { id, digest } = yield* uploaded(account)
        yield* Fiber.interrupt(beats)
        first.isCut = true
        yield* untilHost(first.id, "suspect")
        assert.strictEqual((yield* (yield* Images).get(accountId, id)).status, "ready")

        yield* Effect.forkScoped(second.live)
        yield* untilHost(second.id, "ready")
        second.world.images.add(digest)
        yield* until(sql`select 1 from host_images where host_id = ${second.id}`, (rows) => rows.length === 1)
        yield* (yield* Hosts).ask(first.id, "REMOVE_FORCED")
        yield* untilHost(first.id, "gone")
        yield* until(sql`select 1 from host_images where host_id = ${first.id}`, (rows) => rows.length === 0)
        assert.deepStrictEqual(yield* eventsOf(accountId, id), ["CREATED", "PULLED"])
      }).pipe(Effect.scoped, Effect.provide(fleetService([first, second], { ATOLL_HOST_LOST_AFTER_MS: "600000" })))
    })
  )

  it.effect("fails when its host has lost the bytes, and is ready again where the same archive is uploaded", () =>
    Effect.gen(function* () {
      yield* fresh
      const host = yield* WorldHost.make("host_forgets")
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Effect.forkScoped(host.live)
        yield* untilHost(host.id, "ready")
        const account = yield* newAccount
        const { accountId } = account
        const { id, digest } = yield* uploaded(account)
        host.world.images.delete(digest)
        // A row of a moment ago is kept: the image may have come after the inventory.
        yield* sql`update host_images set noted_at = 0`
        assert.strictEqual((yield* untilImage(accountId, id, "failed")).statusReason?.code, "IMAGE_LOST")
        yield* uploaded(account)
        yield* untilImage(accountId, id, "ready")
      }).pipe(Effect.scoped, Effect.provide(fleetService([host])))
    })
  )
})
