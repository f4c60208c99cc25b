/** Runs a scenario on an account, with one ledger or several, and lets the witness check every step. */
import assert from "node:assert/strict"
import type { FoldedTransition, MeteredSandbox } from "../../../src/wallet/Fold.ts"
import type { NewGrant } from "../../../src/wallet/grantCredit.ts"
import type { RateCard } from "../../../src/wallet/RateCard.ts"
import { type Books, check, checkSpending, type Logs } from "../../support/wallet/Witness.ts"
import { type Scenario, type Step, sandboxes } from "./steps.ts"

export interface LedgerUnderTest {
  readonly now: (at: number) => void
  /** Commits a transition of a Sandbox; the first one makes the Sandbox. */
  readonly commit: (sandbox: MeteredSandbox, transition: FoldedTransition) => Promise<void>
  readonly fold: (sandboxId: string) => Promise<void>
  readonly settle: (at: number) => Promise<void>
  readonly balance: () => Promise<bigint>
  readonly grant: (grant: Omit<NewGrant, "accountId">) => Promise<void>
  readonly setRates: (
    rates: Omit<RateCard, "createdAt" | "effectiveAt"> & { readonly effectiveAt: number }
  ) => Promise<void>
  readonly books: () => Promise<Books>
}

const next: Readonly<Record<string, ReadonlyArray<string>>> = {
  none: ["pending"],
  pending: ["running", "running", "running", "stopping", "deleting"],
  running: ["running", "sleeping", "stopping", "stopping", "deleting"],
  sleeping: ["pending", "pending", "stopping", "deleting"],
  stopping: ["stopped", "stopped", "pending", "deleting"],
  stopped: ["pending", "pending", "deleting"],
  deleting: ["deleted"],
  deleted: []
}

const nextOfSnapshot: typeof next = {
  none: ["creating"],
  creating: ["ready", "ready", "ready", "failed", "deleting"],
  ready: ["deleting", "deleting", "failed"],
  failed: ["deleting"],
  deleting: ["deleted"],
  deleted: []
}

export class MoneyRun {
  readonly #ledger: LedgerUnderTest
  readonly #scenario: Scenario
  readonly #logs = new Map<string, { readonly sandbox: MeteredSandbox; readonly log: Array<FoldedTransition> }>()
  #now: number
  /** Everything due up to here was posted. */
  #through = 0

  constructor(ledger: LedgerUnderTest, scenario: Scenario, accountId: string) {
    this.#ledger = ledger
    this.#scenario = scenario
    this.#now = scenario.startAt
    for (let i = 0; i < sandboxes; i++) {
      const sandboxId = `${accountId}_${i}`
      const snapshotOf = i === sandboxes - 1 ? `${accountId}_0` : null
      const sizes = snapshotOf === null ? scenario.sizes[i]! : { vcpus: 0, memoryBytes: 0, volumeBytes: 0 }
      const sandbox = { sandboxId, snapshotOf, accountId, workspaceId: `w${i % 2}`, name: null, ...sizes }
      this.#logs.set(sandboxId, { sandbox, log: [] })
    }
  }

  get logs(): Logs {
    return this.#logs
  }

  async run(): Promise<void> {
    this.#ledger.now(this.#now)
    for (const step of this.#scenario.steps) {
      await this.#take(step)
      check(await this.#ledger.books(), this.#logs, this.#through)
    }
    await this.finish()
  }

  /** Posted to the end, and again: the same as one fold of the whole log. */
  async finish(): Promise<void> {
    await this.#balance()
    const books = await this.#ledger.books()
    check(books, this.#logs, this.#through)
    if (this.#scenario.isPunctual) checkSpending(books, this.#logs, this.#now)
    for (const meter of books.meters) {
      assert.ok(meter.closedAt !== null || meter.at >= this.#now, "all is posted")
      assert.equal(meter.revision, this.#logs.get(meter.sandboxId)!.log.length, "the whole log is folded")
    }
    for (const [sandboxId, known] of this.#logs) {
      const ran = known.log.some(({ to }) => to === "running" || to === "ready")
      assert.equal(
        books.meters.some((meter) => meter.sandboxId === sandboxId),
        ran,
        "what ran or was ready has a meter"
      )
    }
    await this.#settle(this.#now)
    for (const sandboxId of this.#logs.keys()) await this.#ledger.fold(sandboxId)
    assert.deepEqual(await this.#ledger.books(), books, "posting again changes nothing")
  }

  async #settle(at: number): Promise<void> {
    await this.#ledger.settle(at)
    this.#through = Math.max(this.#through, at)
  }

  /** The figures between two postings are those that a posting would make, unless a clock was ahead. */
  async #balance(): Promise<void> {
    for (const sandboxId of this.#logs.keys()) await this.#ledger.fold(sandboxId)
    const shown = await this.#ledger.balance()
    await this.#settle(this.#now)
    const { wallet, meters } = await this.#ledger.books()
    if (meters.every(({ at }) => at <= this.#now)) assert.equal(shown, wallet.balanceMicroUsd, "what is shown")
  }

  /** A change of sizes, in any state in which there can be one. */
  async #resize({ sandbox: index, sizes, skewMs }: Extract<Step, { readonly type: "resize" }>): Promise<void> {
    const { sandbox, log } = [...this.#logs.values()][index]!
    const state = log.at(-1)?.to
    if (sandbox.snapshotOf !== null || state === undefined || state === "deleting" || state === "deleted") return
    const at = this.#scenario.isPunctual ? this.#now : this.#now + skewMs
    const transition = { revision: log.length + 1, at, from: state, to: state, seenAt: null, sizes }
    log.push(transition)
    await this.#ledger.commit(sandbox, transition)
  }

  async #take(step: Step): Promise<void> {
    const { isPunctual } = this.#scenario
    switch (step.type) {
      case "wait":
        this.#now += step.ms
        this.#ledger.now(this.#now)
        return
      case "move": {
        const { sandbox, log } = [...this.#logs.values()][step.sandbox]!
        const from = log.at(-1)?.to ?? "none"
        const isSnapshot = sandbox.snapshotOf !== null
        const following = (isSnapshot ? nextOfSnapshot : next)[from]!
        const to = following[step.choice % following.length]
        if (to === undefined) return
        const transition: FoldedTransition = {
          revision: log.length + 1,
          at: isPunctual ? this.#now : this.#now + step.skewMs,
          from: from === "none" ? null : from,
          to,
          seenAt: isPunctual || isSnapshot || step.seenMsAgo === null ? null : this.#now - step.seenMsAgo,
          sizes:
            to === "ready" ? { vcpus: 0, memoryBytes: 0, volumeBytes: this.#scenario.sizes.at(-1)!.volumeBytes } : null
        }
        log.push(transition)
        await this.#ledger.commit(sandbox, transition)
        // What ended is not looked for: the command of its last transition folds it.
        if (isPunctual && (to === "deleted" || to === "failed")) await this.#ledger.fold(sandbox.sandboxId)
        return
      }
      case "resize":
        return this.#resize(step)
      case "fold":
        return this.#ledger.fold([...this.#logs.keys()][step.sandbox]!)
      case "settle":
        return this.#settle(isPunctual ? this.#now : Math.max(this.#now - step.msAgo, 0))
      case "balance":
        return this.#balance()
      case "grant": {
        const effectiveAt = this.#now + step.inMs
        await this.#ledger.grant({
          kind: step.kind,
          microUsd: step.microUsd,
          effectiveAt,
          expiresAt: step.forMs === null ? null : effectiveAt + step.forMs,
          description: "a gift"
        })
        this.#through = Math.max(this.#through, this.#now)
        return
      }
      case "rates":
        return this.#ledger.setRates({
          vcpuSecondNanoUsd: step.vcpu,
          memoryGibSecondNanoUsd: step.memory,
          volumeGibSecondNanoUsd: step.volume,
          snapshotGibSecondNanoUsd: step.snapshot,
          effectiveAt: this.#now + step.inMs
        })
    }
  }
}
