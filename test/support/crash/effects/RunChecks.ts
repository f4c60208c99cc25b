/** What must hold of a run with and without a strike. */
import type { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SimulatedMachine, SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { everyChange } from "../../../invariants/changes.ts"
import { changesBetween, type Moment } from "../../../invariants/Moment.ts"
import { everyMoment } from "../../../invariants/moments.ts"
import { logFaults } from "../../ActorLogs.ts"
import { check } from "../../wallet/Witness.ts"
import type { Answer } from "./ClientConnection.ts"
import type { AskStep } from "./scenarios.ts"
import { auditOf, loggedStates, momentOf, money, storedActors, unsettledWallets } from "./stored.ts"

type Query = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) => Promise<A>

interface Told {
  readonly requestId: string
  readonly name: string
  readonly status: number
}

/** What every answer to one request must have alike: its status and labels may have changed since. */
const lasting = ["id", "createdAt", "workspaceId", "sandboxId", "argv", "cwd", "port", "url", "hostname"]

const lastingOf = ({ json }: Answer): string =>
  JSON.stringify([
    json?.capability,
    ...["sandbox", "operation", "workspace", "preview"].map((kind) =>
      lasting.map((field) => (json?.[kind] as Readonly<Record<string, unknown>> | undefined)?.[field])
    )
  ])

export class RunChecks {
  readonly faults: Array<string> = []
  readonly keyed: Array<{ readonly step: AskStep; readonly answer: Answer }> = []
  readonly #query: Query
  readonly #world: SimulatedWorld
  readonly #told: Array<Told> = []
  /** `id state`, as clients were told. */
  readonly #states = new Set<string>()
  /** Every machine that was seen. */
  readonly #machines = new Set<SimulatedMachine>()
  #moment: Moment = { actors: [] }
  #revisions = new Map<string, number>()

  constructor(query: Query, world: SimulatedWorld) {
    this.#query = query
    this.#world = world
  }

  /** An answer arrived at a client, a refusal included. */
  told(requestId: string, name: string, { status, json }: Answer): void {
    this.#told.push({ requestId, name, status })
    for (const one of [json?.sandbox, json?.operation]) {
      if (one !== undefined && status < 300) this.#states.add(`${one.id} ${one.status}`)
    }
  }

  /** The client is content with it. */
  answered(step: AskStep, answer: Answer): void {
    if (step.isRepeated && answer.status < 300) this.keyed.push({ step, answer })
    const isRepeatedDelete = answer.status === 404 && step.method === "DELETE"
    if (answer.status >= 300 && !isRepeatedDelete) {
      this.faults.push(`${step.name} was answered ${answer.status} ${JSON.stringify(answer.json)}`)
    }
  }

  repeated({ name }: AskStep, answer: Answer, again: Answer): void {
    if (again.status < 300 && lastingOf(answer) === lastingOf(again)) return
    this.faults.push(
      `${name} was repeated with its key and answered ${again.status} ${JSON.stringify(again.json)}, first ${JSON.stringify(answer.json)}`
    )
  }

  /** The invariants of this moment, and of what changed since the last one. */
  async look(after: string): Promise<void> {
    const actors = await this.#query(storedActors)
    const now = momentOf(actors)
    const blame = (sentence: string, broken: string | null) => {
      if (broken !== null) this.faults.push(`After ${after}: ${broken} ${sentence}`)
    }
    for (const { sentence, broken } of everyMoment) blame(sentence, broken(now))
    for (const change of everyChange) blame(change.sentence, changesBetween(this.#moment, now, change))
    const known = new Set(actors.map(({ id }) => id))
    for (const { id } of this.#moment.actors) if (!known.has(id)) this.faults.push(`After ${after}: ${id} is missing`)
    for (const { id, revision } of actors) {
      if (revision < (this.#revisions.get(id) ?? 0)) this.faults.push(`After ${after}: ${id} went back to ${revision}`)
    }
    for (const id of [...this.#world.machines.keys(), ...this.#world.volumes]) {
      if (!known.has(id)) this.faults.push(`After ${after}: the host has ${id}, which no row knows`)
    }
    for (const machine of this.#world.machines.values()) this.#machines.add(machine)
    this.#revisions = new Map(actors.map(({ id, revision }) => [id, revision]))
    this.#moment = now
  }

  async isSettled(): Promise<boolean> {
    return (await this.#query(unsettledWallets)).length === 0
  }

  /** After all Sandboxes were deleted. */
  async atTheEnd(accountId: string, nowMs: number, audited: ReadonlySet<string> | null): Promise<void> {
    for (const { id, kind, state, pending } of await this.#query(storedActors)) {
      if (pending.length > 0)
        this.faults.push(`${kind} ${id} is ${state} and still has ${pending.map(({ type }) => type)}`)
      if (kind === "sandbox" && state !== "deleted") this.faults.push(`${id} was deleted and is ${state}`)
    }
    for (const id of [...this.#world.machines.keys(), ...this.#world.volumes])
      this.faults.push(`${id} is deleted, and the host has it`)
    for (const { spec, starts } of this.#machines) {
      for (const [key, times] of starts)
        if (times > 1) this.faults.push(`${key} was started ${times} times in generation ${spec.generation}`)
    }
    const logged = new Set((await this.#query(loggedStates)).map(({ actor_id, to_state }) => `${actor_id} ${to_state}`))
    for (const state of this.#states) {
      if (!logged.has(state)) this.faults.push(`A client was told ${state}, which never was`)
    }
    this.faults.push(...(await this.#query(logFaults)))
    await this.#checkMoney(accountId, nowMs)
    if (audited !== null) await this.#checkAudit(audited)
  }

  async #checkMoney(accountId: string, nowMs: number): Promise<void> {
    const { books, logs } = await this.#query(money(accountId))
    for (const [id, { log }] of logs) {
      const meter = books.meters.find(({ sandboxId }) => sandboxId === id)
      if (meter?.closedAt !== log.at(-1)!.at || meter.revision !== log.at(-1)!.revision)
        this.faults.push(`The meter of ${id} stands at revision ${meter?.revision} of ${log.length}`)
    }
    try {
      check(books, logs, nowMs)
    } catch (error) {
      this.faults.push(`The ledger: ${(error as Error).message}`)
    }
  }

  async #checkAudit(audited: ReadonlySet<string>): Promise<void> {
    const events = new Map((await this.#query(auditOf)).map((event) => [event.request_id, event]))
    for (const { requestId, name, status } of this.#told) {
      const event = events.get(requestId)
      if (event === undefined ? audited.has(name) : event.status !== status)
        this.faults.push(`The audit log has ${event?.status ?? "nothing"} of ${requestId}, answered ${status}`)
    }
    for (const { request_id, times } of events.values())
      if (times !== 1) this.faults.push(`The audit log has ${request_id} ${times} times`)
  }

  /** Names of requests that the audit log has. */
  async audited(): Promise<ReadonlySet<string>> {
    const events = new Set((await this.#query(auditOf)).map(({ request_id }) => request_id))
    return new Set(this.#told.filter(({ requestId }) => events.has(requestId)).map(({ name }) => name))
  }
}
