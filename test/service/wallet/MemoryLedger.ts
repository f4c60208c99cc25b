/**
 * The ledger's pure parts in the order in which the real one uses them, over plain memory: thousands of runs a minute.
 */
import assert from "node:assert/strict"
import { countedStates } from "../../../src/sandbox/sandboxStates.ts"
import type { Spent } from "../../../src/wallet/Allocation.ts"
import { storedStates } from "../../../src/wallet/billedStates.ts"
import {
  everRan,
  type FoldedTransition,
  fold,
  leadsBackTo,
  type Meter,
  type MeteredSandbox,
  newMeter,
  type Segment,
  standing
} from "../../../src/wallet/Fold.ts"
import type { Grant } from "../../../src/wallet/Grant.ts"
import { type Load, loadOf, type Planned, plan } from "../../../src/wallet/Plan.ts"
import { grantCuts, grantsDueAt, post, spentNeeded } from "../../../src/wallet/Posting.ts"
import type { Books } from "../../support/wallet/Witness.ts"
import type { LedgerUnderTest } from "./MoneyRun.ts"

type Log = { readonly sandbox: MeteredSandbox; readonly log: ReadonlyArray<FoldedTransition> }

const defaultCard = {
  effectiveAt: 0,
  vcpuSecondNanoUsd: 14_000n,
  memoryGibSecondNanoUsd: 4_500n,
  volumeGibSecondNanoUsd: 30n,
  snapshotGibSecondNanoUsd: 30n,
  createdAt: 0
}

interface Folded {
  readonly before: Meter
  readonly meter: Meter
  readonly segments: ReadonlyArray<Segment>
}

const hasLeft = ({ remainingMicroUsd }: Grant) => remainingMicroUsd > 0n

export class MemoryLedger implements LedgerUnderTest {
  #logs: ReadonlyMap<string, Log> = new Map()
  #now = 0
  #made = 0
  #books: Books

  constructor(accountId: string) {
    this.#books = {
      wallet: { accountId, balanceMicroUsd: 0n, debtMicroUsd: 0n, entries: 0n },
      cards: [defaultCard],
      meters: [],
      segments: [],
      grants: [],
      entries: [],
      allocations: []
    }
  }

  /** Diverges from the real one from here on. */
  copy(): MemoryLedger {
    const copy = new MemoryLedger(this.#books.wallet.accountId)
    copy.#logs = this.#logs
    copy.#now = this.#now
    copy.#made = this.#made
    copy.#books = this.#books
    return copy
  }

  now = (at: number) => {
    this.#now = at
  }

  commit = async (sandbox: MeteredSandbox, transition: FoldedTransition) => {
    const log = [...(this.#logs.get(sandbox.sandboxId)?.log ?? []), transition]
    this.#logs = new Map([...this.#logs, [sandbox.sandboxId, { sandbox, log }]])
  }

  fold = async (sandboxId: string) => {
    const meter = this.#meter(sandboxId)
    if (meter === null || meter.revision === this.#logs.get(sandboxId)!.log.length) return
    const [folded] = this.#foldAll([meter], null)
    const through = folded!.meter.at
    if (!everRan(folded!.meter)) return
    if ((grantsDueAt(this.#open) ?? through + 1) <= through) this.settleNow(Math.max(this.#now, through), sandboxId)
    else {
      this.#post([folded!], through)
      this.#settleWhatIsDue(this.#now)
    }
  }

  /** A plan from sums uses one rate card, with nothing due. */
  #settleWhatIsDue(at: number): void {
    const since = Math.min(at, ...this.#books.meters.filter(({ hasVolume }) => hasVolume).map((meter) => meter.at))
    const isCut = this.#books.cards.some(({ effectiveAt }) => effectiveAt > since && effectiveAt <= at)
    if (isCut || (grantsDueAt(this.#open) ?? at + 1) <= at) this.settleNow(at)
  }

  settle = async (at: number) => this.settleNow(at)

  balance = async () => {
    if ((grantsDueAt(this.#open) ?? this.#now + 1) <= this.#now) this.settleNow(this.#now)
    return this.#books.wallet.balanceMicroUsd - this.#load(this.#now).grownMicroUsd
  }

  grant: LedgerUnderTest["grant"] = async ({ kind, microUsd, effectiveAt, expiresAt, description }) => {
    this.settleNow(this.#now)
    const grant: Grant = {
      id: `grt_${String(this.#made++).padStart(6, "0")}`,
      kind,
      grantedMicroUsd: microUsd,
      remainingMicroUsd: microUsd,
      expiredMicroUsd: 0n,
      effectiveAt: effectiveAt ?? this.#now,
      expiresAt,
      isPosted: false,
      description,
      createdAt: this.#now
    }
    this.#books = { ...this.#books, grants: [...this.#books.grants, grant] }
    this.settleNow(this.#now)
  }

  setRates: LedgerUnderTest["setRates"] = async (rates) => {
    if (this.#books.meters.some(({ at }) => at > rates.effectiveAt)) return
    if (this.#books.cards.some(({ effectiveAt }) => effectiveAt === rates.effectiveAt)) return
    const cards = [...this.#books.cards, { ...rates, createdAt: this.#now }]
    this.#books = { ...this.#books, cards: cards.sort((a, b) => a.effectiveAt - b.effectiveAt) }
  }

  books = async () => this.#books

  /** As by the ledger; with `bySums`, planned from the sums of all meters. */
  planNow(bySums: boolean): Planned {
    const at = this.instant
    const load = this.#load(at)
    return plan({
      billing: "prepaid",
      at,
      grants: this.#open,
      debtMicroUsd: this.#books.wallet.debtMicroUsd,
      load: bySums ? { ...load, each: null } : load,
      cards: this.#books.cards,
      exhaustedAt: null
    })
  }

  /** The instant for which `planNow` plans. */
  get instant(): number {
    return this.#now
  }

  settleNow(at: number, also?: string): void {
    const meters = [...this.#logs.keys()].flatMap((id) => {
      const meter = this.#meter(id)!
      const costly = meter.snapshotOf === null ? countedStates : storedStates
      const isKnown = everRan(meter) ? meter.closedAt === null : costly.includes(this.#logs.get(id)!.log.at(-1)!.to)
      return isKnown || id === also ? [meter] : []
    })
    const folded = this.#foldAll(meters, at)
    this.#post(folded, at)
    const ahead = Math.max(at, ...folded.map(({ meter }) => meter.at))
    if (ahead > at && (grantsDueAt(this.#open) ?? ahead + 1) <= ahead) this.settleNow(ahead)
  }

  get #open(): ReadonlyArray<Grant> {
    return this.#books.grants.filter(hasLeft)
  }

  #load(at: number): Load {
    return loadOf(
      this.#books.meters.filter(({ hasVolume }) => hasVolume),
      this.#books.cards,
      at
    )
  }

  #meter(sandboxId: string): Meter | null {
    const known = this.#logs.get(sandboxId)
    if (known === undefined) return null
    return this.#books.meters.find((meter) => meter.sandboxId === sandboxId) ?? newMeter(known.sandbox)
  }

  #foldAll(meters: ReadonlyArray<Meter>, until: number | null): ReadonlyArray<Folded> {
    const logs = new Map(
      meters.map(({ sandboxId, revision }) => [
        sandboxId,
        this.#logs.get(sandboxId)!.log.filter((transition) => transition.revision > revision)
      ])
    )
    const back = new Map(meters.map((meter) => [meter.sandboxId, leadsBackTo(meter, logs.get(meter.sandboxId)!)]))
    return meters.map((before) => {
      const at = back.get(before.sandboxId) ?? null
      const tail =
        at === null
          ? []
          : standing(this.#books.segments.filter(({ sandboxId, to }) => sandboxId === before.sandboxId && to > at))
      const rules = { cards: this.#books.cards, cuts: grantCuts(this.#books.grants) }
      return { before, ...fold(before, logs.get(before.sandboxId)!, until, tail, rules) }
    })
  }

  #spent(needed: ReturnType<typeof spentNeeded>): ReadonlyArray<Spent> {
    const left = new Map<string, Spent>()
    for (const { spentBy, grantId, microUsd } of this.#books.allocations) {
      const key = `${spentBy} ${grantId}`
      const before = left.get(key)?.microUsd ?? 0n
      left.delete(key)
      left.set(key, { spentBy, grantId, microUsd: before + microUsd })
    }
    const all = [...left.values()].reverse()
    const own = all.filter(({ spentBy }) => needed.entryIds.includes(spentBy))
    const ownSum = own.reduce((sum, { microUsd }) => sum + microUsd, 0n)
    return ownSum < needed.microUsd - this.#books.wallet.debtMicroUsd ? all : own
  }

  #post(folded: ReadonlyArray<Folded>, through: number): void {
    const segments = folded.flatMap((one) => one.segments)
    const books = this.#books
    const spent = this.#spent(spentNeeded(segments))
    const posted = post({
      wallet: books.wallet,
      grants: books.grants.filter((grant) => hasLeft(grant) || spent.some(({ grantId }) => grantId === grant.id)),
      segments,
      spent,
      through,
      postedAt: this.#now,
      nameOf: (sandboxId) => sandboxId
    })
    for (const { before } of folded) {
      assert.ok(before.revision === 0 || books.meters.includes(before), "a meter is changed by one posting at a time")
    }
    const after = new Map(folded.flatMap(({ meter }) => (everRan(meter) ? [[meter.sandboxId, meter] as const] : [])))
    const changed = new Map(posted.changedGrants.map((grant) => [grant.id, grant]))
    this.#books = {
      wallet: posted.wallet,
      cards: books.cards,
      meters: [
        ...books.meters.map((meter) => after.get(meter.sandboxId) ?? meter),
        ...[...after.values()].filter(({ sandboxId }) => books.meters.every((meter) => meter.sandboxId !== sandboxId))
      ],
      segments: [...books.segments, ...segments],
      grants: books.grants.map((grant) => changed.get(grant.id) ?? grant),
      entries: [...books.entries, ...posted.entries],
      allocations: [...books.allocations, ...posted.allocations]
    }
  }
}
