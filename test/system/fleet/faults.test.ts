/**
 * Every fault of every member of a fleet, under clients that never pause: nothing that was acknowledged is lost,
 * nothing is done twice, no Sandbox is alive twice. ATOLL_FLEET_SEED repeats the plan of a run; the exact instant of
 * each fault depends on the machine.
 * @source issue 13 "Fault sweep"
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import { Fleet } from "../../support/fleet/Fleet.ts"
import { OwnPostgres } from "../../support/OwnPostgres.ts"
import { bookFaults, hostsOfSandboxes, standing } from "./books.ts"
import { type Fault, roundsOf } from "./Faults.ts"
import { refusal } from "./refusal.ts"
import { Sweep } from "./Sweep.ts"
import { steps } from "./SweepClient.ts"

const asked = (name: string) => process.env[`ATOLL_FLEET_${name}`] || undefined

const clusterLeaseMs = 3000
const hostLeaseMs = 2000
const hostLostAfterMs = 1000
const clients = 3
/** Every fault once, and one more: what a run of all tests has time for on a machine of usual speed. */
const few = 35

/** On a slow machine there are fewer: no further round begins then. */
const newRoundsForMs = 40_000

const faults = Number(asked("FAULTS") ?? few)
const seed = Number(asked("SEED") ?? Math.floor(Math.random() * 2 ** 31))
/** In a long run each is checked separately more often. */
const atOnce = faults > few ? { min: 1, max: 3 } : { min: 4, max: 5 }

/** By kind and target: how often. */
const counted = (struck: ReadonlyArray<Fault>): Readonly<Record<string, number>> => {
  const names = struck.map(
    (fault) => `${fault.type} ${"victim" in fault ? fault.victim : `${fault.from}, ${fault.to}`}`
  )
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]).sort())
}

describe.skipIf(refusal !== null)("a fleet", () => {
  it.live(
    "loses nothing that it acknowledged and does nothing twice, through every fault of its members",
    () =>
      Effect.gen(function* () {
        const postgres = yield* OwnPostgres
        const sql = yield* SqlClient.SqlClient
        const context = yield* Effect.context<Effect.Services<typeof bookFaults>>()
        const run = <A>(effect: Effect.Effect<A, unknown, Effect.Services<typeof bookFaults>>) =>
          Effect.runPromiseWith(context)(Effect.orDie(effect))
        const fleet = yield* Fleet.make({
          environment: {
            ATOLL_CLUSTER_LEASE_MS: String(clusterLeaseMs),
            ATOLL_HOST_LEASE_MS: String(hostLeaseMs),
            ATOLL_HOST_LOST_AFTER_MS: String(hostLostAfterMs)
          }
        })
        const books = {
          faults: () => run(bookFaults),
          hostOf: () => run(hostsOfSandboxes),
          database: {
            signal: (signal: NodeJS.Signals) => run(postgres.signalAll(signal)),
            // A member that is frozen or down learns of it later, or not at all.
            deafen: () =>
              run(
                Effect.ignore(
                  Effect.timeout(
                    sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'atoll-notices'`,
                    "1 second"
                  )
                )
              )
          }
        }
        yield* Effect.promise(async () => {
          const sweep = new Sweep(fleet, books, seed, clients)
          const rounds = roundsOf({
            seed,
            faults,
            atOnce,
            leasesMs: Math.max(hostLeaseMs + hostLostAfterMs, clusterLeaseMs)
          })
          try {
            await sweep.begin()
            const begun = performance.now()
            for (const round of rounds) {
              if (faults === few && performance.now() - begun > newRoundsForMs) break
              await sweep.run(round)
              assert.deepStrictEqual(sweep.faults, [], JSON.stringify(round))
            }
            await sweep.end()
            await sweep.answered()
            assert.deepStrictEqual(sweep.faults, [])
            assert.deepStrictEqual(await fleet.retire(), [])
            assert.deepStrictEqual([...(await books.faults()), ...(await books.hostOf())], [])
            if (faults === few) assert.isAtLeast(sweep.struck.length, atOnce.min)
            else assert.strictEqual(sweep.struck.length, faults)
            assert.isAbove(sweep.done["operation"] ?? 0, 0)
            // A service that does nothing finds nothing; a short run may be too short for some of it.
            const undone = steps.filter((step) => sweep.done[step] === undefined)
            assert.deepStrictEqual(faults > few ? undone : [], [])
            if (asked("FAULTS") !== undefined) {
              const { looks, done, during, spent } = sweep
              const told = { seed, rounds: rounds.length, looks, done, during, spent }
              console.log(JSON.stringify({ ...told, ...counted(sweep.struck) }))
            }
          } catch (error) {
            const again = `npm run test:fleet -- --faults ${faults} --seed ${seed}`
            const struck = sweep.struck.map((fault) => JSON.stringify(fault)).join("\n")
            const stands = (await run(standing).catch(() => [])).join("\n")
            const said = [again, ...sweep.faults, stands, struck, fleet.log].join("\n")
            throw new Error(`${String(error)}\nagain: ${said}`, { cause: error })
          } finally {
            await sweep.end()
          }
        })
      }).pipe(Effect.scoped, Effect.provide(OwnPostgres.layer)),
    faults > few ? 3_600_000 : 900_000
  )
})
