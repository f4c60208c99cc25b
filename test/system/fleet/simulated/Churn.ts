/**
 * Clients of many accounts, which make, start, stop, use and delete Sandboxes through any service, and repeat requests
 * elsewhere when one dies.
 */
import { setTimeout as pause } from "node:timers/promises"
import { Cause, Effect, Exit } from "effect"
import { isContractError } from "../../../../src/api/http/ErrorResponse.ts"
import { OwnerAway } from "../../../../src/engine/ActorError.ts"
import { Operations } from "../../../../src/operation/Operations.ts"
import { Sandboxes } from "../../../../src/sandbox/Sandboxes.ts"
import { isDatabaseFault } from "../../../../src/store/DatabaseFault.ts"
import type { Dice } from "../../../support/fleet/simulated/Dice.ts"
import { lost, type SimulatedService } from "../../../support/fleet/simulated/SimulatedService.ts"
import { command, request } from "../../../support/TestSandboxes.ts"

export interface Account {
  readonly accountId: string
  readonly workspaceId: string
}

interface Known {
  readonly account: Account
  readonly id: string
  readonly operations: Array<string>
}

const programs: ReadonlyArray<ReadonlyArray<string>> = [
  ["echo", "words"],
  ["true"],
  ["exit", "3"],
  ["sleep", "0.2"],
  ["hang"]
]

interface Refusal {
  readonly _tag: string
  readonly details?: { readonly status?: string | null } | null
}

/** The patience of a client that repeats a request: longer than any fault lasts, and any machine takes. */
const patienceMs = 180_000
const pauseMs = 50

export interface ChurnOptions {
  readonly dice: Dice
  readonly services: ReadonlyArray<SimulatedService>
  readonly accounts: ReadonlyArray<Account>
  /** About so many concurrently. */
  readonly sandboxes: number
  readonly clients: number
}

export class Churn {
  readonly faults: Array<string> = []
  /** Sandboxes that were acknowledged, by id. */
  readonly acknowledged = new Map<string, Known>()
  readonly operations = new Set<string>()
  /** Requests by result. */
  readonly counts = new Map<string, number>()
  readonly #options: ChurnOptions
  readonly #live: Array<Known> = []
  readonly #waiting = new Set<string>()
  #keys = 0
  #wasFull = false
  #isOver = false

  constructor(options: ChurnOptions) {
    this.#options = options
  }

  /** The requests that have no answer yet. */
  get waiting(): ReadonlyArray<string> {
    return [...this.#waiting]
  }

  get live(): ReadonlyArray<Known> {
    return this.#live
  }

  /** Until there are as many as requested, and then until `stop`. */
  run(): { readonly filled: Promise<void>; readonly stopped: Promise<unknown> } {
    const { promise: filled, resolve } = Promise.withResolvers<void>()
    const stopped = Promise.all(
      Array.from({ length: this.#options.clients }, async () => {
        const dice = this.#options.dice.fork()
        while (!this.#isOver) {
          await this.#act(dice)
          if (this.#live.length >= this.#options.sandboxes) resolve()
        }
      })
    )
    return { filled, stopped }
  }

  stop(): void {
    this.#isOver = true
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }

  /** The answer of the first service that gives one; null: the client was refused, or no service answered for long. */
  async #ask<A, E>(
    dice: Dice,
    what: string,
    effect: Effect.Effect<A, E, Sandboxes | Operations>,
    known?: Known
  ): Promise<A | null> {
    const giveUpAt = performance.now() + patienceMs
    while (performance.now() < giveUpAt) {
      const up = this.#options.services.filter(({ isUp }) => isUp)
      const exit = up.length === 0 ? lost : await this.#called(dice.one(up), what, effect, known)
      if (exit !== lost && Exit.isSuccess(exit)) {
        this.#count(what)
        return exit.value
      }
      if (exit !== lost) {
        const error = Exit.findError(exit)
        const fault = error._tag === "Success" ? error.success : Cause.squash(exit.cause)
        // A refusal is a defect when the rollback of its transaction found the database gone; it is answered all the same.
        if (error._tag === "Success" || isContractError(fault)) {
          const { _tag, details } = fault as Refusal
          this.#count(`${what}: ${_tag}`)
          // There was no room for it: it cannot be used.
          if (known !== undefined && details?.status === "expired") this.#drop(known)
          return null
        }
        // The conditions that are answered with 503.
        if (!isDatabaseFault(fault) && !(fault instanceof OwnerAway)) {
          this.faults.push(`${what} died: ${Cause.pretty(exit.cause)}`)
          return null
        }
      }
      this.#count(`${what} again`)
      await pause(pauseMs)
    }
    this.faults.push(`${what} was not answered`)
    return null
  }

  async #called<A, E>(
    service: SimulatedService,
    what: string,
    effect: Effect.Effect<A, E, Sandboxes | Operations>,
    known: Known | undefined
  ): Promise<Exit.Exit<A, E> | typeof lost> {
    const waiting = `${service.name} owes ${what} ${known?.id ?? ""}, asked ${new Date().toISOString()}`
    this.#waiting.add(waiting)
    return service.call(effect).finally(() => this.#waiting.delete(waiting))
  }

  async #act(dice: Dice): Promise<void> {
    const { sandboxes } = this.#options
    const isFull = this.#live.length >= sandboxes
    this.#wasFull ||= isFull
    const action = dice.of({
      create: isFull ? 0 : this.#wasFull ? 6 : 60,
      delete: isFull ? 6 : 1,
      // Most of them cannot run concurrently.
      stop: this.#wasFull ? 3 : 45,
      start: 4,
      operation: 5,
      cancel: 1
    })
    if (action === "create") return this.#create(dice)
    if (this.#live.length === 0) return
    const known = dice.one(this.#live)
    const { accountId } = known.account
    const ask = <A, E>(what: string, effect: Effect.Effect<A, E, Sandboxes | Operations>) =>
      this.#ask(dice, what, effect, known)
    switch (action) {
      case "delete":
        return this.remove(dice, known)
      case "stop":
        return void (await ask(
          "stop",
          Effect.flatMap(Sandboxes, (it) => it.stop(accountId, known.id, request))
        ))
      case "start":
        return void (await ask(
          "start",
          Effect.flatMap(Sandboxes, (it) => it.start(accountId, known.id, { ...request, idempotencyKey: null }))
        ))
      case "operation": {
        const idempotencyKey = `operation${this.#keys++}`
        const argv = [...dice.one(programs)]
        const operation = await ask(
          "operation",
          Effect.flatMap(Operations, (it) =>
            it.start(accountId, known.id, {
              ...request,
              idempotencyKey,
              fingerprint: idempotencyKey,
              request: { ...command, argv, timeoutSeconds: null }
            })
          )
        )
        if (operation === null) return
        this.operations.add(operation.id)
        known.operations.push(operation.id)
        return
      }
      case "cancel": {
        const operation = known.operations.pop()
        if (operation === undefined) return
        await ask(
          "cancel",
          Effect.flatMap(Operations, (it) => it.cancel(accountId, known.id, operation, request))
        )
      }
    }
  }

  async #create(dice: Dice): Promise<void> {
    const account = dice.one(this.#options.accounts)
    const idempotencyKey = `sandbox${this.#keys++}`
    const create = Effect.flatMap(Sandboxes, (it) =>
      it.create({
        accountId: account.accountId,
        requestId: request.requestId,
        idempotencyKey,
        fingerprint: idempotencyKey,
        request: {
          workspaceId: account.workspaceId,
          name: null,
          networkEnabled: false,
          metadata: {},
          env: {},
          lifetime: null
        }
      })
    )
    const made = await this.#ask(dice, "create", create)
    if (made === null) return
    const known = { account, id: made.sandbox.id, operations: [] }
    if (this.acknowledged.has(known.id)) this.faults.push(`${known.id} was acknowledged for two keys`)
    this.acknowledged.set(known.id, known)
    this.#live.push(known)
  }

  /** False: another client was first. */
  #drop(known: Known): boolean {
    const at = this.#live.indexOf(known)
    if (at === -1) return false
    this.#live[at] = this.#live[this.#live.length - 1]!
    this.#live.pop()
    return true
  }

  async remove(dice: Dice, known: Known): Promise<void> {
    // Only one client deletes it; others may use it meanwhile.
    if (!this.#drop(known)) return
    await this.#ask(
      dice,
      "delete",
      Effect.flatMap(Sandboxes, (it) => it.remove(known.account.accountId, known.id, request))
    )
  }
}
