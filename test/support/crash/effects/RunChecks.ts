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
import type { AskStep } from "./scenarios/Scenario.ts"
import { auditOf, loggedStates, momentOf, money, storedActors, unsettledWallets } from "./stored.ts"

type Query = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) => Promise<A>

export type Held = Pick<SimulatedWorld, "machines" | "volumes" | "snapshots"> & {
  /** Of a host of a fleet: images that were received. An upload that broke may leave one for ten minutes, a transfer between hosts leaves none. */
  readonly imported?: ReadonlyMap<string, unknown>
}

interface Told {
  readonly requestId: string
  readonly step: AskStep
  readonly name: string
  readonly status: number
}

/**
 * Whose call it was is not known: then it has no event. People are known by what the database says of their session or link, and the operator's act has
 * its event after its own commit.
 */
const isUnknown = ({ step, status }: Told): boolean =>
  status === 401 || (step.path.startsWith("/console/") && status >= 300)

/** A success of the operator is in the audit log with the status that the command line would have. */
const isSame = ({ step, status }: Told, noted: number): boolean =>
  status === noted || (step.path.startsWith("/console/api/operator/") && status < 300 && noted < 300)

/** What every answer to one request must have alike: its status and labels may have changed since. */
const lasting = ["id", "createdAt", "workspaceId", "sandboxId", "argv", "cwd", "port", "url", "hostname"]

const lastingOf = ({ json }: Answer): string =>
  JSON.stringify([
    json?.capability,
    json?.code,
    json?.microUsd,
    json?.refused,
    json?.sandboxes?.map(({ id }: { readonly id: string }) => id),
    ...["sandbox", "operation", "workspace", "preview", "snapshot", "image"].map((kind) =>
      lasting.map((field) => (json?.[kind] as Readonly<Record<string, unknown>> | undefined)?.[field])
    )
  ])

const isAsWanted = ({ status }: AskStep, answer: Answer): boolean =>
  status === undefined ? answer.status < 300 : answer.status === status

export class RunChecks {
  readonly faults: Array<string> = []
  /** By the names of their requests. */
  readonly #answers = new Map<string, Answer>()
  readonly keyed: Array<{ readonly step: AskStep; readonly answer: Answer }> = []
  readonly #query: Query
  readonly #worlds: ReadonlyArray<Held>
  readonly #told: Array<Told> = []
  /** `id state`, as clients were told. */
  readonly #states = new Set<string>()
  /** Every machine that was seen. */
  readonly #machines = new Set<SimulatedMachine>()
  #moment: Moment = { actors: [] }
  #revisions = new Map<string, number>()

  constructor(query: Query, worlds: ReadonlyArray<Held>) {
    this.#query = query
    this.#worlds = worlds
  }

  /** An answer arrived at a client, a refusal included. */
  told(requestId: string, step: AskStep, name: string, { status, json }: Answer): void {
    this.#told.push({ requestId, step, name, status })
    for (const one of [json?.sandbox, json?.operation, json?.snapshot, json?.image, ...(json?.sandboxes ?? [])]) {
      if (one !== undefined && status < 300) this.#states.add(`${one.id} ${one.status}`)
    }
  }

  /** Whether this is what its client wanted. */
  isContent(step: AskStep, answer: Answer): boolean {
    const isRepeatedDelete = step.status === undefined && answer.status === 404 && step.method === "DELETE"
    if (!isAsWanted(step, answer)) return isRepeatedDelete
    return step.holds?.(answer, this.#answers) ?? true
  }

  /** @param answering The step that this answers, perhaps in place of the one of the scenario. */
  answered(step: AskStep, answering: AskStep, answer: Answer): void {
    if (step.isRepeated && isAsWanted(step, answer)) this.keyed.push({ step, answer })
    this.#answers.set(step.name, answer)
    if (this.isContent(answering, answer)) return
    this.faults.push(`${answering.name} was answered ${answer.status} ${JSON.stringify(answer.json)}`)
  }

  repeated(step: AskStep, answer: Answer, again: Answer): void {
    if (isAsWanted(step, again) && lastingOf(answer) === lastingOf(again)) return
    this.faults.push(
      `${step.name} was repeated and answered ${again.status} ${JSON.stringify(again.json)}, first ${JSON.stringify(answer.json)}`
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
    for (const id of this.#hostHas()) {
      if (!known.has(id)) this.faults.push(`After ${after}: the host has ${id}, which no row knows`)
    }
    for (const { machines } of this.#worlds) for (const machine of machines.values()) this.#machines.add(machine)
    this.#revisions = new Map(actors.map(({ id, revision }) => [id, revision]))
    this.#moment = now
  }

  /** Sandboxes that have a machine or a volume there, and snapshots that have an image. */
  #hostHas(): ReadonlyArray<string> {
    return this.#worlds.flatMap(({ machines, volumes, snapshots }) => [
      ...machines.keys(),
      ...volumes,
      ...snapshots.keys()
    ])
  }

  async isSettled(): Promise<boolean> {
    return (await this.#query(unsettledWallets)).length === 0
  }

  /** After all Sandboxes and snapshots were deleted. */
  async atTheEnd(nowMs: number, audited: ReadonlySet<string> | null): Promise<void> {
    for (const { id, kind, state, pending } of await this.#query(storedActors)) {
      // A host is attended for as long as it is there.
      if (pending.length > 0 && kind !== "host")
        this.faults.push(`${kind} ${id} is ${state} and still has ${pending.map(({ type }) => type)}`)
      if (["sandbox", "snapshot", "image"].includes(kind) && state !== "deleted")
        this.faults.push(`${id} was deleted and is ${state}`)
    }
    const received = this.#worlds.flatMap(({ imported }) => [...(imported?.keys() ?? [])])
    for (const id of [...this.#hostHas(), ...received]) this.faults.push(`${id} is deleted, and the host has it`)
    for (const { spec, starts } of this.#machines) {
      for (const [key, times] of starts)
        if (times > 1) this.faults.push(`${key} was started ${times} times in generation ${spec.generation}`)
    }
    const logged = new Set((await this.#query(loggedStates)).map(({ actor_id, to_state }) => `${actor_id} ${to_state}`))
    for (const state of this.#states) {
      if (!logged.has(state)) this.faults.push(`A client was told ${state}, which never was`)
    }
    this.faults.push(...(await this.#query(logFaults)))
    await this.#checkMoney(nowMs)
    if (audited !== null) await this.#checkAudit(audited)
  }

  async #checkMoney(nowMs: number): Promise<void> {
    for (const { books, logs } of await this.#query(money)) {
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
  }

  async #checkAudit(audited: ReadonlySet<string>): Promise<void> {
    const rows = await this.#query(auditOf)
    const events = new Map(rows.map((event) => [event.request_id, event]))
    for (const told of this.#told) {
      if (isUnknown(told)) continue
      const event = events.get(told.requestId)
      if (event === undefined ? audited.has(told.name) : !isSame(told, event.status))
        this.faults.push(
          `The audit log has ${event?.status ?? "nothing"} of ${told.requestId}, answered ${told.status}`
        )
    }
    for (const { request_id, times } of rows)
      if (times !== 1) this.faults.push(`The audit log has ${request_id} ${times} times`)
  }

  /** Names of requests that the audit log has. */
  async audited(): Promise<ReadonlySet<string>> {
    const events = new Set((await this.#query(auditOf)).map(({ request_id }) => request_id))
    return new Set(this.#told.filter(({ requestId }) => events.has(requestId)).map(({ name }) => name))
  }
}
