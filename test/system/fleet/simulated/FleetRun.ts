/**
 * One run of a simulated fleet: services in one process, a cluster on one database, hosts as worlds in memory, clients,
 * and a part that makes hosts and services fail. `AliveWitness` and `CommitAudit` check the invariants at every change;
 * and once nothing fails any more, everything has to converge.
 * The seed repeats the faults and the requests, not the machine's scheduling.
 */

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { type Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { countedStates, removedStates } from "../../../../src/sandbox/sandboxStates.ts"
import { logFaults } from "../../../support/ActorLogs.ts"
import { Dice } from "../../../support/fleet/simulated/Dice.ts"
import { HostAgent } from "../../../support/fleet/simulated/HostAgent.ts"
import { SimulatedHost } from "../../../support/fleet/simulated/SimulatedHost.ts"
import { SimulatedService } from "../../../support/fleet/simulated/SimulatedService.ts"
import { orStuck } from "../../../support/orStuck.ts"
import { newAccount } from "../../../support/TestAtoll.ts"
import { AliveWitness } from "./AliveWitness.ts"
import { Churn } from "./Churn.ts"
import { CommitAudit } from "./CommitAudit.ts"
import { Falls } from "./Falls.ts"

export interface FleetRunOptions {
  readonly seed: number
  readonly services: number
  readonly hosts: number
  /** About so many concurrently. */
  readonly sandboxes: number
  /**
   * Room for so many times as many Sandboxes as run concurrently, and three times as many volumes. Below 1 starts and
   * creates are refused.
   */
  readonly room: number
  /** How long faults last, once there are as many. */
  readonly churnMs: number
  /** Of a service and of a host; a host that is silent for twice as long is lost. */
  readonly leaseMs: number
  /** A run that takes longer waits for something that does not happen. */
  readonly stuckAfterMs: number
  readonly say: (line: string) => void
}

/** A private database. */
export interface FleetDatabase {
  readonly name: string
  readonly socketFolder: string
  readonly context: Context.Context<SqlClient.SqlClient>
}

const sizes = { vcpus: 1, memoryBytes: 1024 ** 2, volumeBytes: 4096 }
const sandboxesPerAccount = 10
const clients = 48
/** Patience with a slow machine, after which the run counts as stuck. */
const agreeWithinMs = 240_000
const lookEveryMs = 250
const sayEveryMs = 15_000
const faultsTold = 20

/** Mostly immediately; now and then so late that other requests have come meanwhile. */
const delayOf = (dice: Dice) => () => (dice.next() < 0.02 ? dice.between(50, 1000) : dice.between(0, 2))

const differences = (what: string, some: Iterable<string>, others: Iterable<string>): ReadonlyArray<string> => {
  const [one, other] = [new Set(some), new Set(others)]
  const left = [...[...one].filter((it) => !other.has(it)), ...[...other].filter((it) => !one.has(it))]
  return left.length === 0 ? [] : [`${left.length} ${what}: ${left.slice(0, 3).join(", ")}`]
}

interface SandboxRow {
  readonly id: string
  readonly status: string
  readonly generation: number
  /** Null: there was no room for it, and it was stopped before it got the refusal. It is placed when it boots. */
  readonly host_id: string | null
  readonly is_busy: boolean
}

interface PromiseRow {
  readonly sandbox_id: string
  readonly host_id: string
  readonly is_up: boolean
}

export class FleetRun {
  readonly #options: FleetRunOptions
  readonly #database: FleetDatabase
  readonly #dice: Dice
  readonly #folder = mkdtempSync(join(tmpdir(), "atoll-sim-"))
  readonly #began = performance.now()
  readonly #witness = new AliveWitness(sizes.volumeBytes)
  #hosts: ReadonlyArray<SimulatedHost> = []
  #services: ReadonlyArray<SimulatedService> = []
  #churn: Churn | null = null
  #last = "begin"

  private constructor(options: FleetRunOptions, database: FleetDatabase) {
    this.#options = options
    this.#database = database
    this.#dice = new Dice(options.seed)
  }

  /** Fails with every broken invariant. */
  static async of(options: FleetRunOptions, database: FleetDatabase): Promise<void> {
    const run = new FleetRun(options, database)
    try {
      const faults = await run.#within(run.#all())
      await run.#within(run.#end())
      const all = [...faults, ...(await run.#run(logFaults))].slice(0, faultsTold)
      if (all.length > 0) throw new Error([...all, ...(await run.#histories(all))].join("\n"))
    } finally {
      await run.#within(run.#end())
      rmSync(run.#folder, { recursive: true, force: true })
    }
  }

  #within<A>(work: Promise<A>): Promise<A> {
    return orStuck(work, this.#options.stuckAfterMs, () => this.#stuck())
  }

  /** What is waited for. */
  async #stuck(): Promise<ReadonlyArray<string>> {
    const services = this.#services.flatMap((service) => service.waiting)
    const found = [`last: ${this.#last}`, ...(this.#churn?.waiting ?? []), ...services]
    const busy = await this.#rows<{ readonly line: string }>(
      "select format('%s %s %s pending %s', kind, id, status, pending) as line from actors where pending <> '[]'::jsonb limit 20"
    )
    return [...found, ...busy.map(({ line }) => line), ...(await this.#histories(found))]
  }

  async #end(): Promise<void> {
    for (const service of this.#services) service.kill()
    await Promise.all(this.#services.map((service) => service.ended()))
  }

  /** Of the first Sandboxes that faults name. */
  async #histories(faults: ReadonlyArray<string>): Promise<ReadonlyArray<string>> {
    const ids = [...new Set(faults.flatMap((fault) => fault.match(/sbx_[0-9a-z]+/g) ?? []))].slice(0, 3)
    const entries = await this.#rows<{ readonly actor_id: string; readonly line: string }>(
      `select actor_id, format('  %s %s %s: %s -> %s %s', revision, event ->> 'at', event ->> 'type', from_state, to_state, commands) as line
       from transitions where actor_id in (${["''", ...ids.map((id) => `'${id}'`)].join(", ")}) order by actor_id, revision`
    )
    return ids.flatMap((id) => [id, ...entries.filter(({ actor_id }) => actor_id === id).map(({ line }) => line)])
  }

  #run<A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>): Promise<A> {
    return Effect.runPromiseWith(this.#database.context)(effect)
  }

  #rows<A extends object>(statement: string): Promise<ReadonlyArray<A>> {
    return this.#run(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<A>(statement)))
  }

  #say(line: string): void {
    this.#last = line
    this.#options.say(`${((performance.now() - this.#began) / 1000).toFixed(1)} s  ${line}`)
  }

  async #all(): Promise<ReadonlyArray<string>> {
    const { hosts, services, sandboxes, churnMs, leaseMs } = this.#options
    await this.#run(Effect.flatMap(SqlClient.SqlClient, (sql) => CommitAudit.install(sql, sandboxesPerAccount)))
    const room = Math.ceil((sandboxes / hosts) * this.#options.room)
    this.#hosts = await Promise.all(Array.from({ length: hosts }, (_, index) => this.#newHost(index, room)))
    const environment = {
      ATOLL_CLUSTER_LEASE_MS: String(leaseMs),
      ATOLL_HOST_LEASE_MS: String(leaseMs),
      ATOLL_HOST_LOST_AFTER_MS: String(leaseMs),
      ATOLL_RECONCILE_INTERVAL_MS: String(leaseMs),
      ATOLL_SANDBOXES_PER_ACCOUNT: String(sandboxesPerAccount),
      ATOLL_SANDBOX_VCPUS: String(sizes.vcpus),
      ATOLL_SANDBOX_MEMORY_BYTES: String(sizes.memoryBytes),
      ATOLL_VOLUME_BYTES: String(sizes.volumeBytes),
      ATOLL_TELEMETRY_INTERVAL_MS: "1000000000",
      ATOLL_PRUNE_INTERVAL_MS: "1000000000"
    }
    const { name: database, socketFolder } = this.#database
    this.#services = Array.from(
      { length: services },
      (_, index) =>
        new SimulatedService(`service${index}`, {
          folder: this.#folder,
          socketFolder,
          database,
          hosts: this.#hosts,
          environment
        })
    )
    await Promise.all(this.#services.map((service) => service.start()))
    // Some accounts reach their limit, whichever they are.
    const accounts = await Promise.all(
      Array.from({ length: Math.ceil(sandboxes / (0.75 * sandboxesPerAccount)) }, () => this.#run(newAccount))
    )
    const churn = new Churn({ dice: this.#dice.fork(), services: this.#services, accounts, sandboxes, clients })
    this.#churn = churn
    const falls = new Falls({
      dice: this.#dice.fork(),
      services: this.#services,
      hosts: this.#hosts,
      awayMostMs: 4 * leaseMs,
      everyMostMs: leaseMs
    })
    const agents = this.#hosts.map((host) => new HostAgent(host, this.#services, this.#dice.fork()))
    const joined = agents.map((agent) => agent.run())
    const notReady = await this.#untilAgreed(() => this.#notReady())
    if (notReady.length > 0) return notReady
    this.#say("services and hosts are up")
    const { filled, stopped } = churn.run()
    const progress = setInterval(() => this.#say(`${churn.live.length} Sandboxes so far`), sayEveryMs)
    await filled.finally(() => clearInterval(progress))
    this.#say(`${churn.live.length} Sandboxes`)
    const fallen = falls.run()
    await pause(churnMs)
    churn.stop()
    await falls.stop()
    await Promise.all([stopped, fallen])
    this.#say(`nothing falls any more: ${said(falls.counts)}`)
    const away = await this.#untilAgreed(() => this.#notReady())
    const atOdds = await this.#untilAgreed(() => this.#sandboxesAndMachines())
    this.#say("Sandboxes, machines and promises agree")
    const left = [...churn.live]
    await Promise.all(
      Array.from({ length: clients }, async () => {
        const dice = this.#dice.fork()
        for (let known = left.pop(); known !== undefined; known = left.pop()) await churn.remove(dice, known)
      })
    )
    const remains = await this.#untilAgreed(() => this.#remains())
    this.#say(`all are deleted: ${said(churn.counts)}`)
    for (const agent of agents) agent.stop()
    await Promise.all(joined)
    const { faults, looks } = await this.#run(Effect.flatMap(SqlClient.SqlClient, CommitAudit.found))
    this.#say(
      `${this.#witness.boots} boots, ${this.#witness.aliveMost} concurrently; checks of commits: ${JSON.stringify(looks)}`
    )
    const [losses] = await this.#rows<{ readonly count: number }>(
      "select count(*)::int4 as count from transitions where event ->> 'type' = 'HOST_LOST'"
    )
    this.#say(`${losses!.count} Sandboxes were told that their host was lost`)
    return [
      ...this.#witness.faults,
      ...faults,
      ...churn.faults,
      ...away,
      ...atOdds,
      ...remains,
      ...(await this.#forgotten(churn))
    ]
  }

  async #newHost(index: number, room: number): Promise<SimulatedHost> {
    const world = await Effect.runPromise(SimulatedWorld.make)
    const capacity = {
      vcpus: room * sizes.vcpus,
      memoryBytes: room * sizes.memoryBytes,
      diskBytes: 3 * room * sizes.volumeBytes,
      parallelStarts: 64
    }
    const id = `host_${String(index).padStart(24, "0")}`
    const delayMs = delayOf(this.#dice.fork())
    const host = new SimulatedHost(id, world, capacity, sizes.volumeBytes, delayMs, (sandboxId, generation) =>
      this.#witness.asked(sandboxId, generation)
    )
    this.#witness.watch(host)
    return host
  }

  /** The differences that remain when patience ends. */
  async #untilAgreed(look: () => Promise<ReadonlyArray<string>>): Promise<ReadonlyArray<string>> {
    const end = performance.now() + agreeWithinMs
    let found = await look()
    const progress = setInterval(() => this.#say(`not yet: ${found.join("; ").slice(0, 500)}`), sayEveryMs)
    while (found.length > 0 && performance.now() < end) {
      await pause(lookEveryMs)
      found = await look()
    }
    clearInterval(progress)
    return found
  }

  async #notReady(): Promise<ReadonlyArray<string>> {
    const rows = await this.#rows<{ readonly id: string }>(
      "select id from actors where kind = 'host' and status = 'ready'"
    )
    return differences(
      "hosts are not ready",
      this.#hosts.map(({ id }) => id),
      rows.map(({ id }) => id)
    )
  }

  /** Everything settled, each machine belongs to its Sandbox, and each reservation to one that counts. */
  async #sandboxesAndMachines(): Promise<ReadonlyArray<string>> {
    const rows = await this.#rows<SandboxRow>(
      `select id, status, (snapshot -> 'context' ->> 'generation')::int4 as generation, snapshot -> 'context' ->> 'hostId' as host_id,
         pending <> '[]'::jsonb as is_busy
       from actors where kind = 'sandbox'`
    )
    const promises = await this.#rows<PromiseRow>("select sandbox_id, host_id, is_up from host_promises")
    const running = rows.filter(({ status }) => status === "running")
    const alive = this.#hosts.flatMap(({ id, world, canaries }) =>
      [...world.machines.values()]
        .filter(({ spec }) => !canaries.has(spec.sandboxId))
        .map(({ spec }) => ({ hostId: id, sandboxId: spec.sandboxId, generation: spec.generation }))
    )
    const volumes = this.#hosts.flatMap(({ id, world }) => [...world.volumes].map((volume) => `${volume} on ${id}`))
    const promised = new Set(promises.map(({ sandbox_id }) => sandbox_id))
    const places = new Set(promises.map(({ sandbox_id, host_id }) => `${sandbox_id} on ${host_id}`))
    return [
      ...differences(
        "busy",
        rows.filter(({ is_busy }) => is_busy).map(({ id, status }) => `${id} ${status}`),
        []
      ),
      ...differences(
        "run or are alive, not both",
        running.map(({ id, generation }) => `${id}#${generation}`),
        alive.map(({ sandboxId, generation }) => `${sandboxId}#${generation}`)
      ),
      ...differences(
        "count or are promised something, not both",
        rows
          .filter(({ id, status, host_id }) => countedStates.includes(status) && (host_id !== null || promised.has(id)))
          .map(({ id }) => id),
        promised
      ),
      ...differences(
        "are alive or promised to be, not both",
        promises.filter(({ is_up }) => is_up).map(({ sandbox_id, host_id }) => `${sandbox_id} on ${host_id}`),
        alive.map(({ sandboxId, hostId }) => `${sandboxId} on ${hostId}`)
      ),
      ...differences(
        "volumes without a reservation",
        volumes.filter((volume) => !places.has(volume)),
        []
      )
    ]
  }

  /** Nothing is left of anything, anywhere. */
  async #remains(): Promise<ReadonlyArray<string>> {
    const rows = await this.#rows<SandboxRow>("select id, status from actors where kind = 'sandbox'")
    const promises = await this.#rows<PromiseRow>("select sandbox_id, host_id, is_up from host_promises")
    const sums = await this.#rows<{ readonly id: string }>(
      "select id from hosts where vcpus_promised <> 0 or memory_promised <> 0 or disk_promised <> 0"
    )
    return [
      ...differences(
        "Sandboxes",
        rows.filter(({ status }) => !removedStates.includes(status)).map(({ id, status }) => `${id} ${status}`),
        []
      ),
      ...differences(
        "promises",
        promises.map(({ sandbox_id, host_id }) => `${sandbox_id} on ${host_id}`),
        []
      ),
      ...differences(
        "hosts with sums",
        sums.map(({ id }) => id),
        []
      ),
      ...this.#hosts.flatMap(({ id, world }) => [
        ...differences(`machines on ${id}`, world.machines.keys(), []),
        ...differences(`volumes on ${id}`, world.volumes, [])
      ])
    ]
  }

  /** What was acknowledged, and is missing. */
  async #forgotten(churn: Churn): Promise<ReadonlyArray<string>> {
    const rows = await this.#rows<{ readonly id: string; readonly kind: string; readonly status: string }>(
      "select id, kind, status from actors where kind in ('sandbox', 'operation')"
    )
    const ids = new Set(rows.map(({ id }) => id))
    const ended = ["completed", "failed", "cancelled"]
    return [
      ...differences(
        "acknowledged and forgotten",
        [...churn.acknowledged.keys(), ...churn.operations].filter((id) => !ids.has(id)),
        []
      ),
      ...differences(
        "operations outlived their Sandbox",
        rows.filter(({ kind, status }) => kind === "operation" && !ended.includes(status)).map(({ id }) => id),
        []
      )
    ]
  }
}

const said = (counts: ReadonlyMap<string, number>) =>
  [...counts]
    .sort()
    .map(([what, times]) => `${what} ${times}`)
    .join(", ")
