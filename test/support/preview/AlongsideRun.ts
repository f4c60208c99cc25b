/** One Sandbox whose previews are opened, closed, expired and stopped concurrently; each round is checked when it is over. */
import { setImmediate } from "node:timers/promises"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { previewsPerSandbox } from "../../../schemas/Limits.ts"
import type { ListedPreview, Preview } from "../../../schemas/Preview.ts"
import { actorIdOf, sha256 } from "../../../src/access/preview/previewActorId.ts"
import { type Answer, sendTo, type TestApi } from "../http/TestApi.ts"
import type { ShiftedClock } from "../ShiftedClock.ts"
import { untilSeen } from "../until.ts"
import { checkLog, type PreviewFact, previewFacts } from "./alongsideLog.ts"
import type { Act, Round, Timed } from "./alongsideSteps.ts"

const hourMs = 3_600_000

/** A preview that its client was told of. */
interface Known {
  readonly preview: Preview
  readonly alongside: boolean
  /** At the end of the last round. */
  isOpen: boolean
}

/** What was before a round, and what was answered in it. */
interface Past {
  readonly known: ReadonlyArray<Known>
  readonly open: ReadonlyArray<Known>
  readonly done: ReadonlyArray<Done>
}

interface Done {
  readonly act: Act
  readonly answer: Answer | null
  /** The preview that it closes. */
  readonly closes: Known | null
}

/** Whether it may have ended a preview that was open before the round. */
const mayEnd = ({ act, closes }: Done, known: Known): boolean =>
  closes === null ? ["closeAll", "hour", "stop", "die"].includes(act.type) : closes === known

/** Whether it has. */
const hasEnded = (done: Done, known: Known): boolean =>
  mayEnd(done, known) && (done.answer === null || done.answer.status < 300)

/** Whether it makes an open fail: a preview that ends before its client has the answer is not served. */
const isDisturbance = ({ act, answer }: Done): boolean =>
  ["hour", "die", "start"].includes(act.type) || (["close", "closeAll", "stop"].includes(act.type) && answer !== null)

const actorOf = ({ preview }: Known): string => actorIdOf(sha256(preview.id))

const meantBy = ({ index, isOpen }: Extract<Act, { readonly type: "close" }>, before: ReadonlyArray<Known>) => {
  const among = isOpen ? before.filter((one) => one.isOpen) : before
  return among[index % among.length] ?? null
}

const isOpenStatus = ({ status }: ListedPreview) => status === "active" || status === "opening"

export class AlongsideRun {
  readonly #api: TestApi["Service"]
  readonly #sql: SqlClient.SqlClient
  readonly #clock: ShiftedClock
  readonly #id: string
  /** Of another account. */
  readonly #otherKey: string
  readonly #known = new Map<string, Known>()
  #isRunning = true

  constructor(
    api: TestApi["Service"],
    sql: SqlClient.SqlClient,
    clock: ShiftedClock,
    { id, otherKey }: { readonly id: string; readonly otherKey: string }
  ) {
    this.#api = api
    this.#sql = sql
    this.#clock = clock
    this.#id = id
    this.#otherKey = otherKey
  }

  readonly #send = (bySecond: boolean, method: string, call: string, body?: object, key = this.#api.key) =>
    sendTo(bySecond ? this.#api.second.port : this.#api.port, key)(method, `/api/v2/sandboxes/${this.#id}${call}`, {
      key,
      ...(body === undefined ? {} : { body })
    })

  readonly #facts = () => Effect.runPromise(previewFacts(this.#sql, this.#id))

  /** A Sandbox that does not run is started first, or in it. */
  async round(round: Round): Promise<void> {
    if (!this.#isRunning && round.every(({ act }) => act.type !== "start")) {
      assert.strictEqual((await this.#send(false, "POST", "/start")).status, 201)
      await this.#settled([])
    }
    const known = [...this.#known.values()]
    const open = known.filter(({ isOpen }) => isOpen)
    const done = await Promise.all(round.map((timed) => this.#timed(timed, known)))
    const past = { known, open, done }
    await this.#settled(open.filter((one) => done.some((each) => hasEnded(each, one))))
    for (const each of done) this.#checkAnswer(each, past)
    await this.#checkState(past)
  }

  /** Deletes the Sandbox. */
  async remove(): Promise<void> {
    assert.strictEqual((await this.#send(false, "DELETE", "")).status, 204)
  }

  /** After its removal every preview has ended once. */
  async checkEnd(): Promise<void> {
    const facts = await untilSeen(this.#facts, (all) => all.every(({ isOpen, isBusy }) => !isOpen && !isBusy))
    this.#checkFacts(facts)
    for (const { id, endedBy } of facts) assert.lengthOf(endedBy, 1, id)
  }

  async #timed({ act, turns, bySecond }: Timed, before: ReadonlyArray<Known>): Promise<Done> {
    for (let turn = 0; turn < turns; turn++) await setImmediate()
    const closes = act.type === "close" ? meantBy(act, before) : null
    return { act, answer: await this.#do(act, bySecond, closes), closes }
  }

  async #do(act: Act, bySecond: boolean, closes: Known | null): Promise<Answer | null> {
    switch (act.type) {
      case "open":
        return this.#open(act, bySecond)
      case "close":
        return this.#close(closes, bySecond)
      case "closeAll":
        return this.#send(bySecond, "DELETE", "/previews")
      case "lookUp":
        return this.#lookUp(act.port, act.isOther, bySecond)
      case "list":
        return this.#list(bySecond)
      case "hour":
        this.#clock.shiftMs += hourMs
        return null
      case "die":
        this.#api.crash(this.#id)
        return null
      case "stop":
      case "start":
        return this.#send(bySecond, "POST", `/${act.type}`)
    }
  }

  async #open({ port, alongside }: { readonly port: number; readonly alongside: boolean }, bySecond: boolean) {
    // Absent is false.
    const answer = await this.#send(bySecond, "POST", "/previews", alongside ? { port, alongside } : { port })
    if (answer.status !== 201) return answer
    const { preview } = answer.json as { readonly preview: Preview }
    assert.strictEqual(preview.port, port)
    assert.isFalse(this.#known.has(preview.id))
    this.#known.set(preview.id, { preview, alongside, isOpen: true })
    return answer
  }

  /** The answer 204 means that no process tells its address any more. */
  async #close(known: Known | null, bySecond: boolean) {
    if (known === null) return null
    const { id, port } = known.preview
    const answer = await this.#send(bySecond, "DELETE", `/previews/${id}`)
    const found = await this.#send(!bySecond, "POST", "/previews/lookup", { port })
    if (answer.status === 204 && found.status === 200) assert.notStrictEqual(found.json.preview.id, id)
    return answer
  }

  async #lookUp(port: number, isOther: boolean, bySecond: boolean) {
    const key = isOther ? this.#otherKey : this.#api.key
    const answer = await this.#send(bySecond, "POST", "/previews/lookup", { port }, key)
    if (isOther) assert.deepStrictEqual([answer.status, answer.json.code], [404, "NOT_FOUND"])
    return answer
  }

  async #list(bySecond: boolean) {
    const answer = await this.#send(bySecond, "GET", "/previews")
    const now = this.#clock.currentTimeMillisUnsafe()
    const { previews } = answer.json as { readonly previews: ReadonlyArray<ListedPreview> }
    const open = previews.filter(isOpenStatus)
    assert.isAtMost(open.length, previewsPerSandbox)
    assert.strictEqual(new Set(open.map(({ port }) => port)).size, open.length, answer.text)
    for (const one of previews) {
      assert.strictEqual(one.endedAt === null, isOpenStatus(one), answer.text)
      if (one.endedAt === null) continue
      // No end in the future, and none after the hour.
      assert.isAtMost(Date.parse(one.endedAt), now, answer.text)
      assert.isAtMost(Date.parse(one.expiresAt), now, answer.text)
    }
    return answer
  }

  /** Nothing goes on any more: the Sandbox is what its machine is, and no preview has a command left. */
  async #settled(ended: ReadonlyArray<Known>): Promise<void> {
    const endedIds = new Set(ended.map(actorOf))
    const left = async () => {
      const { sandbox } = (await this.#send(false, "GET", "")).json
      this.#isRunning = this.#api.world.machines.has(this.#id)
      const facts = await this.#facts()
      const now = this.#clock.currentTimeMillisUnsafe()
      const maySettle = ({ id, expiresAt }: PreviewFact) => this.#isRunning && now < expiresAt && !endedIds.has(id)
      const unsettled = facts.filter((fact) => fact.isBusy || (fact.isOpen && !maySettle(fact)))
      const isAsItsMachine = sandbox.status === (this.#isRunning ? "running" : "stopped")
      return isAsItsMachine && unsettled.length === 0 ? null : { status: sandbox.status, unsettled }
    }
    await untilSeen(left, (found) => found === null, { withinMs: 15_000 })
  }

  /** It has a reason in the round. */
  #checkAnswer({ act, answer }: Done, past: Past): void {
    const shown = `${JSON.stringify(act)} ${answer?.status} ${answer?.text}`
    if (act.type === "open") this.#checkOpen(act, answer!, past, shown)
    if (act.type === "lookUp" && answer!.status !== 404) {
      assert.strictEqual(answer!.status, 200, shown)
      const { id } = answer!.json.preview
      const candidates = [...past.open, ...[...this.#known.values()].filter((one) => !past.known.includes(one))]
      const hasUnanswered = past.done.some((each) => each.act.type === "open" && each.answer!.status === 503)
      assert.isTrue(hasUnanswered || candidates.some(({ preview }) => preview.id === id), shown)
    }
    if (act.type.startsWith("close") && answer !== null) assert.include([204, 503], answer.status, shown)
  }

  #checkOpen(
    { port, alongside }: Extract<Act, { readonly type: "open" }>,
    { status, json }: Answer,
    { open, done }: Past,
    shown: string
  ): void {
    if (status === 201) return
    if (status === 503) {
      assert.strictEqual(json.code, "PREVIEW_TRANSPORT_UNAVAILABLE", shown)
      assert.isTrue(done.some(isDisturbance), shown)
      return
    }
    assert.deepStrictEqual([status, json.code], [409, "PREVIEW_EXISTS"], shown)
    const opened = done.flatMap(({ act, answer }) => (act.type === "open" && answer!.status !== 409 ? [act.port] : []))
    const others = [...open.map(({ preview }) => preview.port), ...opened]
    const isFull = others.length >= previewsPerSandbox
    assert.isTrue(alongside ? isFull || others.includes(port) : others.length > 0, shown)
  }

  #checkFacts(facts: ReadonlyArray<PreviewFact>): void {
    const byActor = new Map([...this.#known.values()].map((one) => [actorOf(one), one]))
    checkLog(facts, ({ id }) => byActor.get(id)?.alongside ?? null)
    const ids = new Set(facts.map(({ id }) => id))
    for (const id of byActor.keys()) assert.isTrue(ids.has(id), `${id}, which was acknowledged, is gone`)
  }

  async #checkState(past: Past): Promise<void> {
    const facts = await this.#facts()
    this.#checkFacts(facts)
    const byActor = new Map(facts.map((fact) => [fact.id, fact]))
    for (const one of this.#known.values()) {
      const { isOpen } = byActor.get(actorOf(one))!
      if (past.open.includes(one) && !past.done.some((each) => mayEnd(each, one))) {
        assert.isTrue(isOpen, `${one.preview.port} ended for no reason`)
      }
      if (!one.isOpen) assert.isFalse(isOpen, `${one.preview.port} is open again`)
      one.isOpen = isOpen
    }
    const open = [...this.#known.values()].filter(({ isOpen }) => isOpen).map(({ preview }) => preview)
    // A client without an answer has no preview that is open.
    assert.strictEqual(facts.filter(({ isOpen }) => isOpen).length, open.length)
    const { previews } = (await this.#list(false)).json as { readonly previews: ReadonlyArray<ListedPreview> }
    assert.sameMembers(
      previews.map(({ port, createdAt }) => `${port} ${Date.parse(createdAt)}`),
      facts.map(({ port, createdAt }) => `${port} ${createdAt}`)
    )
    for (const port of new Set([...this.#known.values()].map(({ preview }) => preview.port))) {
      const expected = open.find((one) => one.port === port)
      const found = await this.#send(true, "POST", "/previews/lookup", { port })
      assert.deepStrictEqual([found.status, found.json.preview], [expected === undefined ? 404 : 200, expected])
      await this.#lookUp(port, true, false)
    }
  }
}
