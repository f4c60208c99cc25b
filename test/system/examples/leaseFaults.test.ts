/** The faults that the exploration and the crash sweep of the example must find; and its drawing. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type AnyStateMachine, assign, createMachine } from "xstate"
import { drawLock } from "../../../examples/lease/chart.ts"
import { lockMachine } from "../../../examples/lease/lock.ts"
import { Clients, lockActors } from "../../../examples/lease/lockActor.ts"
import { lockProduct } from "../../../examples/lease/product.ts"
import { type Act, sweep } from "../../../examples/lease/sweep.ts"
import { explore } from "../../../src/proofs/explore/explore.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

/** By this invariant alone. */
const brokenBy = async (machine: AnyStateMachine, sentence: string) => {
  const product = lockProduct(machine, ["ann", "ben"])
  const only = <A extends { readonly sentence: string }>(all: ReadonlyArray<A>) =>
    all.filter((one) => one.sentence === sentence)
  const { states, edges, liveness } = product
  const alone = { ...product, states: only(states), edges: only(edges), liveness: only(liveness) }
  return (await explore(alone, {})).violations.map((violation) => violation.sentence)
}

const withSameToken = () =>
  lockMachine.provide({
    actions: {
      noteNext: assign(({ context: { waiting }, event }) => ({
        holder: waiting[0]!,
        expiresAt: event.at + 1,
        waiting: waiting.slice(1)
      }))
    }
  })

const withoutLine = () =>
  lockMachine.provide({ guards: { isLast: ({ context, event }) => "token" in event && event.token === context.token } })

/** The holder that follows has no deadline. */
const withoutNextDeadline = () => {
  const { states, ...config } = structuredCloneOf(lockMachine.config)
  for (const event of ["EXPIRE", "RELEASE", "GONE"]) {
    const passes = states.held.on[event][1]
    passes.actions = passes.actions.filter(
      (action: string | { readonly type: string }) => action === "noteNext" || isTell(action)
    )
  }
  return createMachine({ ...config, states } as never, lockMachine.implementations as never)
}
const isTell = (action: string | { readonly type: string }) =>
  typeof action !== "string" && action.type === "tellHolder"
// biome-ignore lint/suspicious/noExplicitAny: a machine's configuration, to be changed.
const structuredCloneOf = (value: any): any =>
  Array.isArray(value)
    ? value.map(structuredCloneOf)
    : typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, structuredCloneOf(inner)]))
      : value

describe("an exploration", () => {
  it.each<readonly [fault: string, sentence: string, machine: () => AnyStateMachine]>([
    ["the token of the last holder", "No two clients have the same token.", withSameToken],
    ["the token of the last holder", "The token grows with each holder, and never falls.", withSameToken],
    ["a line that is forgotten", "ben gets the lock for which it waits, or leaves.", withoutLine],
    [
      "an end by an earlier holder",
      "A lease ends by its own token only.",
      () => lockMachine.provide({ guards: { isToken: () => true } })
    ],
    ["a line that is forgotten", "The lock is held by one client, or free without a line.", withoutLine],
    ["a lease without an end", "A lease ends, even if its holder never comes back.", withoutNextDeadline]
  ])("does not pass with %s", async (_, sentence, machine) => {
    assert.deepStrictEqual(await brokenBy(machine(), sentence), [sentence])
  })
})

it("the lock is drawn as it is", async () => {
  assert.strictEqual(
    readFileSync(join(import.meta.dirname, "../../../examples/lease/lock.svg"), "utf8"),
    await drawLock(),
    "node examples/lease/chart.ts draws it"
  )
})

const acts: ReadonlyArray<Act> = [
  ["ann", "ACQUIRE"],
  ["ben", "ACQUIRE"],
  ["ann", "RELEASE"]
]

/** The command is done before its effect: a crash between them loses the effect. */
const hasty = Layer.provide(
  lockActors,
  Layer.effect(
    Clients,
    Effect.map(Clients, ({ tell }) => ({
      tell: (grant) => Effect.as(Effect.forkDetach(Effect.delay(tell(grant), 5)), true)
    }))
  )
)

/** Lives that begin by this statement, which damages what the life before them left. */
const damagedBy = (damage: Effect.Effect<unknown, SqlError.SqlError>) =>
  lockActors.pipe(Layer.provideMerge(Layer.effectDiscard(Effect.orDie(damage))))

const sweepOne = (actors: typeof lockActors) =>
  Effect.map(
    sweep([["ann", "ACQUIRE"]], () => {}, actors),
    ({ faults }) => faults.join("\n")
  )

layer(TestDatabase.layer, { excludeTestServices: true })("a sweep", (it) => {
  it.effect("finds nothing in the lock", () =>
    Effect.gen(function* () {
      const { crashes, faults } = yield* sweep(acts)
      assert.deepStrictEqual(faults, [])
      // How many there are exactly depends on the pace: a lease may be over before the next act.
      assert.isAtLeast(crashes, 20)
    })
  )

  it.effect("finds a command that is done before its effect", () =>
    Effect.gen(function* () {
      const { faults } = yield* sweep(acts, () => {}, hasty)
      assert.isNotEmpty(faults)
      for (const fault of faults) assert.match(fault, /^effect \d+: \w+ got the token \d+, and never heard of it\.$/)
    })
  )

  it.effect("finds a state that is not what its log says", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const damaged = damagedBy(
        sql`update actors set snapshot = jsonb_set(snapshot, '{context,leaseMs}', '41') where revision > 1`
      )
      assert.match(yield* sweepOne(damaged), /The log, folded, is not what is stored\./)
    })
  )

  it.effect("finds an answer whose transition is gone", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // As a database would be that answers a commit before it is on the disk.
      const damaged = damagedBy(
        sql`with lost as (delete from transitions where revision > 1)
          update actors set revision = 1, pending = '[]', deadlines = '{}', due_at = null,
            snapshot = '{"value":"free","context":{"leaseMs":40,"holder":null,"token":0,"expiresAt":null,"waiting":[]}}'`
      )
      const faults = yield* sweepOne(damaged)
      assert.match(faults, /An answer named revision 2: it is gone\./)
      assert.match(faults, /ann heard of the token 1, which it never got\./)
    })
  )
})
