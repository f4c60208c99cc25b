/** Images of Dockerfiles in a fleet of which not every host builds. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { Images } from "../../../src/image/Images.ts"
import { fresh } from "../../support/fleet/fresh.ts"
import { newAccount } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { WorldFleet } from "./WorldFleet.ts"

type Account = Effect.Success<typeof newAccount>

const noBuilds = publicText`No builds here.`

const build = ({ accountId, workspaceId }: Account) =>
  Effect.flatMap(Images, (images) =>
    images.pull({
      ...{ accountId, requestId: "req_test", idempotencyKey: randomUUID(), fingerprint: "f" },
      request: {
        ...{ name: "tools", reference: null, dockerfile: "FROM scratch", contextSnapshotId: null, workspaceId },
        ...{ target: null, buildArgs: null, profile: null, registry: null, username: null, password: null }
      }
    })
  )

/** Builds it, to its end. */
const built = Effect.fnUntraced(function* (account: Account) {
  const images = yield* Images
  const { id } = yield* build(account)
  return yield* images.get(account.accountId, id).pipe(
    Effect.repeat({
      until: ({ status }) => status === "ready" || status === "failed",
      schedule: Schedule.spaced(20)
    }),
    Effect.timeout("30 seconds")
  )
})

/** The hosts that were asked to boot a Sandbox, in order. */
const bootsOf = ({ worlds }: WorldFleet): ReadonlyArray<string> => {
  const asked: Array<string> = []
  for (const [id, world] of worlds)
    world.intercept = (call) => Effect.sync(() => void (call === "provision" && asked.push(id)))
  return asked
}

const emptyFleet = Effect.map(fresh, () => new WorldFleet())

layer(TestDatabase.layer, { excludeTestServices: true })("an image of a Dockerfile in a fleet", (it) => {
  it.effect("gets a host that builds, also where others are emptier and of the usual runtime", () =>
    Effect.gen(function* () {
      const fleet = yield* emptyFleet
      yield* fleet.add({ id: "host_vm", kind: "vm", buildsImages: false })
      yield* fleet.add({ id: "host_a", buildsImages: false })
      yield* fleet.add({ id: "host_b", vcpus: 8 })
      for (const id of ["host_vm", "host_a"]) fleet.worlds.get(id)!.buildObstacle = noBuilds
      const asked = bootsOf(fleet)
      const account = yield* newAccount
      const { status } = yield* built(account).pipe(Effect.provide(fleet.service({ ATOLL_FLEET_RUNTIME: "vm" })))
      assert.deepStrictEqual([status, asked], ["ready", ["host_b"]])
    })
  )

  it.effect("goes to another host if its first one cannot build any more", () =>
    Effect.gen(function* () {
      const fleet = yield* emptyFleet
      yield* fleet.add({ id: "host_a" })
      yield* fleet.add({ id: "host_b", vcpus: 8 })
      fleet.worlds.get("host_a")!.buildObstacle = noBuilds
      const asked = bootsOf(fleet)
      const account = yield* newAccount
      const { status } = yield* built(account).pipe(Effect.provide(fleet.service()))
      assert.deepStrictEqual([status, asked], ["ready", ["host_a", "host_b"]])
    })
  )

  it.effect("is refused where no host builds, and fails with the host's sentence if none does any more", () =>
    Effect.gen(function* () {
      const fleet = yield* emptyFleet
      yield* fleet.add({ id: "host_a" })
      yield* fleet.add({ id: "host_b" })
      const account = yield* newAccount
      yield* Effect.gen(function* () {
        for (const world of fleet.worlds.values()) world.buildObstacle = noBuilds
        assert.deepInclude(yield* Effect.flip(build(account)), {
          _tag: "UNSUPPORTED_BY_RUNTIME",
          message: "No host of this server can build images."
        })
        for (const world of fleet.worlds.values()) {
          world.buildObstacle = null
          // After the request was accepted.
          world.intercept = (call) =>
            Effect.sync(() => {
              if (call === "turn") world.buildObstacle = noBuilds
            })
        }
        const { status, statusReason } = yield* built(account)
        assert.deepStrictEqual([status, statusReason?.code], ["failed", "IMAGE_BUILD_FAILED"])
        assert.strictEqual(statusReason?.message, "The build's Sandbox does not run: No builds here.")
      }).pipe(Effect.provide(fleet.service()))
    })
  )
})
