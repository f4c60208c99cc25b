/**
 * The clients' answers and the database's states, and what must then hold for ever.
 * @source design.md "Races that must hold"
 */
import type { AnyStateMachine } from "xstate"
import { imageMachine } from "../../../machines/image.ts"
import { operationMachine } from "../../../machines/operation.ts"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import { snapshotMachine } from "../../../machines/snapshot.ts"
import type { ImageContext } from "../../../schemas/contexts/Image.ts"
import type { OperationContext } from "../../../schemas/contexts/Operation.ts"
import type { SandboxContext } from "../../../schemas/contexts/Sandbox.ts"
import type { SnapshotContext } from "../../../schemas/contexts/Snapshot.ts"
import type { Operation } from "../../../schemas/Operation.ts"
import type { Sandbox } from "../../../schemas/Sandbox.ts"
import { everyChange } from "../../invariants/changes.ts"
import { changesBetween, type Moment } from "../../invariants/Moment.ts"
import { everyMoment } from "../../invariants/moments.ts"

/** A committed row of an actor. */
export interface ActorFact {
  readonly id: string
  readonly kind: string
  /** The number of the Idempotency-Key that made it, as the request repeated it. */
  readonly key: string
  readonly status: string
  readonly revision: number
  readonly generation: number
  readonly sandbox_id: string
  readonly workspaceId: string | null
  readonly pending: number
  readonly due_at: number | null
  readonly argv: ReadonlyArray<string> | null
  /** Of an operation. */
  readonly hasStarted: boolean
  /** Of an operation: the parts of its result that may not change once it is terminal. */
  readonly result: string | null
  readonly context: OperationContext | SandboxContext | SnapshotContext | ImageContext
}

const machines: Readonly<Record<string, AnyStateMachine>> = {
  operation: operationMachine,
  sandbox: sandboxMachine,
  snapshot: snapshotMachine,
  image: imageMachine
}

/** The rows as invariants see them, which the exploration of the machines shares. */
const momentOf = (facts: Iterable<ActorFact>): Moment => ({
  actors: [...facts].map(({ id, kind, status, context }) => ({
    id,
    kind,
    state: status,
    tags: new Set(machines[kind]!.states[status]!.tags),
    context,
    commands: []
  }))
})

const terminal: ReadonlyArray<string> = ["completed", "cancelled", "failed"]
export const isTerminal = (status: string) => terminal.includes(status)

const resultOf = ({ status, exitCode, signal, reason, finishedAt }: Operation) =>
  JSON.stringify([status, exitCode, signal, reason?.code ?? null, finishedAt === null ? null : Date.parse(finishedAt)])

export class Witness {
  readonly faults: Array<string> = []
  /** Idempotency key to its first acknowledgement. */
  readonly #acknowledged = new Map<string, { readonly id: string; readonly body: string }>()
  readonly #results = new Map<string, string>()
  readonly #seen = new Map<string, ActorFact>()
  /** Operations whose start had been sent at the last check. */
  readonly #sent = new Set<string>()
  /** Statuses in answers to clients, as `id status`. */
  readonly told = new Set<string>()

  fault(what: string) {
    this.faults.push(what)
  }

  /** A create or an operation start was answered. */
  acknowledge(key: string, body: string, id: string) {
    const known = this.#acknowledged.get(key)
    if (known === undefined) this.#acknowledged.set(key, { id, body })
    else if (known.id !== id) this.fault(`${key} was answered with ${known.id} and with ${id}`)
    else if (known.body !== body) this.fault(`${key} was answered for ${known.body} and for ${body}`)
  }

  /** A request was refused because its key belongs to another one. */
  conflict(key: string, body: string) {
    const known = this.#acknowledged.get(key)
    if (known !== undefined && known.body === body) this.fault(`${key} conflicts with its own ${body}`)
  }

  sandbox({ id, status }: Sandbox) {
    this.told.add(`${id} ${status}`)
  }

  operation(operation: Operation) {
    const { id, status } = operation
    this.told.add(`${id} ${status}`)
    if (isTerminal(status)) this.#result(id, resultOf(operation))
  }

  #result(id: string, result: string) {
    const known = this.#results.get(id) ?? result
    this.#results.set(id, known)
    if (known !== result) this.fault(`${id} ended as ${known} and as ${result}`)
  }

  /** The committed rows at one moment, later ones after earlier ones. */
  observe(facts: ReadonlyArray<ActorFact>) {
    const present = new Map(facts.map((fact) => [fact.id, fact]))
    for (const [key, { id }] of this.#acknowledged) {
      if (!present.has(id)) this.fault(`${id}, acknowledged for ${key}, vanished`)
    }
    this.#hold(facts)
    for (const fact of facts) {
      const before = this.#seen.get(fact.id)
      if (before !== undefined) this.#compare(before, fact)
      this.#seen.set(fact.id, fact)
      if (fact.kind === "operation" && isTerminal(fact.status)) this.#result(fact.id, fact.result!)
    }
    this.#once(facts)
  }

  /**
   * Of operations that were queued at the last check, none is overtaken: no later one's start is sent to the guest before it begins or ends. A start
   * that was on its way already when the other operation was accepted overtakes nothing, whenever it is done.
   * @param operations Those of one generation of a Sandbox, in the order in which they were accepted.
   * @param waited Which were queued at the last check.
   * @param sent Whose start was sent to its guest, each with those that had begun there by then.
   */
  turns(
    operations: ReadonlyArray<ActorFact>,
    waited: ReadonlySet<string>,
    sent: ReadonlyMap<string, ReadonlySet<string>>
  ) {
    for (const [index, late] of operations.entries()) {
      const begun = sent.get(late.id)
      if (begun === undefined || this.#sent.has(late.id)) continue
      for (const early of operations.slice(0, index)) {
        if (!waited.has(early.id) || begun.has(early.id)) continue
        // One that was cancelled before it started was out of the way.
        if (early.status === "queued" || early.hasStarted)
          this.fault(`${early.key} was accepted before ${late.key}, which began first`)
      }
    }
    for (const id of sent.keys()) this.#sent.add(id)
  }

  #compare(before: ActorFact, fact: ActorFact) {
    if (fact.revision < before.revision) this.fault(`${fact.id} went back to revision ${fact.revision}`)
  }

  /** The invariants of every moment, and of each change since the last one. */
  #hold(facts: ReadonlyArray<ActorFact>) {
    const [before, now] = [momentOf(this.#seen.values()), momentOf(facts)]
    for (const { sentence, broken } of everyMoment) this.#blame(sentence, broken(now))
    for (const change of everyChange) this.#blame(change.sentence, changesBetween(before, now, change))
  }

  #blame(sentence: string, broken: string | null) {
    if (broken !== null) this.fault(`${broken} ${sentence}`)
  }

  /** One key, one actor. */
  #once(facts: ReadonlyArray<ActorFact>) {
    const keys = new Map<string, string>()
    for (const { kind, key, id } of facts) {
      const known = keys.get(`${kind} ${key}`)
      if (known !== undefined) this.fault(`the key ${key} made ${known} and ${id}`)
      keys.set(`${kind} ${key}`, id)
    }
  }
}
