/**
 * One run of a scenario. At its target, the service ends (or freezes, or loses an answer of the database), a new one starts on the same database and
 * machines, and its clients ask again what they have no answer to. Then all must be as without it.
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Clock, type Context, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { ManualClock } from "../../race/ManualClock.ts"
import { turn } from "../../race/Stillness.ts"
import type { Answer } from "./ClientConnection.ts"
import { apiKey, type Strike } from "./CrashLife.ts"
import { Credentials } from "./Credentials.ts"
import { carriersOf, heldBy, hostsOf, worldsFor } from "./carriers.ts"
import { DatabaseClock } from "./DatabaseClock.ts"
import { Effects } from "./Effects.ts"
import { differenceOf, sameLines } from "./endLines.ts"
import type { HostProgram } from "./HostProgram.ts"
import { Lives } from "./Lives.ts"
import { ModelVolumes } from "./ModelVolumes.ts"
import type { Plant } from "./plants.ts"
import { RunChecks } from "./RunChecks.ts"
import { type AskStep, epochMs, mayBeDoneLate, type Scenario, type ScenarioStep } from "./scenarios/Scenario.ts"
import { clear, endOf, isLogged } from "./stored.ts"

/** Of the run's time. */
const settleWithinMs = 120_000
/** A planted fault leaves what never settles. */
const settlePlantedWithinMs = 15_000
const lookEveryMs = 1500
/** Of the run's time: a lease and a second. */
const takeOverMs = 3000
/** Of the run's time, after the last step: events of the audit log, charges, the wallet. */
const tailMs = 3000
const triesMax = 30
/** Real time: a run takes a second. */
const stuckAfterMs = 60_000
/** Real time: a lease of a key ends within it, and a passphrase is hashed, on a busy machine, too. */
const slowWithinMs = 3000

/** Also while `performance` shows the run's time. */
const realNow = performance.now.bind(performance)

/** How a run without a strike ends: what any other must end as. */
export interface Reference {
  readonly effects: ReadonlyArray<string>
  readonly end: ReadonlyArray<string>
  readonly afterDeletion: ReadonlyArray<string>
  /** Names of requests that the audit log has. */
  readonly audited: ReadonlySet<string>
}

export interface RunOptions {
  readonly database: Context.Context<SqlClient.SqlClient>
  readonly databaseName: string
  readonly scenario: Scenario
  readonly strike: Strike
  /** Null: nothing happens, and the run is the reference of others. */
  readonly target: string | null
  /**
   * At so many effects after the target, perhaps while it starts, the next service ends, or the frozen one is woken; null: not before the last step.
   */
  readonly second: number | null
  readonly reference: Reference | null
  /** A fault that is to be found; null: the service as it is. */
  readonly plant: Plant | null
}

export interface RunResult {
  readonly wasStruck: boolean
  readonly faults: ReadonlyArray<string>
  readonly reference: Reference
}

export class CrashRun {
  readonly #options: RunOptions
  readonly #effects: Effects
  readonly #folder = mkdtempSync(join(tmpdir(), "atoll-effects-"))
  readonly #databaseClock: DatabaseClock | null
  readonly #clock: ManualClock
  readonly #lives: Lives
  readonly #world: SimulatedWorld
  readonly #hosts: ReadonlyArray<HostProgram>
  readonly #checks: RunChecks
  /** Of a service that was woken, to clients that had given it up. */
  readonly #late: Array<{ readonly name: string; readonly answer: Answer }> = []
  /** A change without an answer. */
  #unanswered: {
    readonly requestId: string
    readonly asking: Promise<Answer | null>
    readonly isSlow: boolean
  } | null = null
  readonly #volumes = new ModelVolumes()
  readonly #credentials = new Credentials(apiKey)
  #tries = 0
  #place = "the start"

  private constructor(options: RunOptions, worlds: ReadonlyArray<SimulatedWorld>) {
    this.#options = options
    const world = worlds[0]!
    this.#world = world
    this.#effects = new Effects(options.target, options.second)
    chmodSync(this.#folder, 0o711)
    const { strike, databaseName, plant, scenario } = options
    // Leases end by the clock of the run only where it is the database's, too, and that of `performance`.
    this.#databaseClock = strike === "freeze" || scenario.hosts ? new DatabaseClock(this.#folder) : null
    this.#clock = new ManualClock(epochMs, (nowMs) => this.#databaseClock?.set(nowMs))
    this.#databaseClock?.set(epochMs)
    const [effects, clock, folder] = [this.#effects, this.#clock, this.#folder]
    const { environment = {} } = scenario
    const volumes = this.#volumes
    const hosts = () => this.#hosts
    this.#lives = new Lives({ effects, strike, world, volumes, environment, clock, databaseName, folder, plant, hosts })
    this.#hosts = hostsOf(scenario, worlds, clock, this.#lives.askFromHost)
    this.#checks = new RunChecks((effect) => this.#query(effect), heldBy(world, this.#hosts))
  }

  static async of(options: RunOptions): Promise<RunResult> {
    const run = new CrashRun(options, await worldsFor(options.scenario))
    let timer: NodeJS.Timeout | undefined
    const stuck = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`Stuck at ${run.#place}.`)), stuckAfterMs)
    })
    const reference: { -readonly [K in keyof Reference]: Reference[K] } = {
      effects: run.#effects.names,
      end: [],
      afterDeletion: [],
      audited: new Set()
    }
    const faults = run.#checks.faults
    // A service knows by its monotonic clock that its lease is over.
    const began = realNow()
    if (run.#databaseClock !== null) performance.now = () => began + run.#clock.currentTimeMillisUnsafe() - epochMs
    try {
      await Promise.race([run.#all(reference), stuck])
    } catch (error) {
      faults.push(`${run.#place}: ${(error as Error).stack ?? error}`)
    } finally {
      performance.now = realNow
      for (const host of run.#hosts) host.end()
      clearTimeout(timer)
      await run.#lives.endAll().catch((error) => faults.push(`${error}`))
      await run.#endClock().catch((error) => faults.push(`${error}`))
      rmSync(run.#folder, { recursive: true, force: true })
    }
    return { wasStruck: run.#effects.wasStruck, faults, reference }
  }

  async #all(result: { -readonly [K in keyof Reference]: Reference[K] }): Promise<void> {
    await this.#query(clear)
    if (this.#databaseClock !== null) await this.#query(this.#databaseClock.installed)
    await this.#lives.start()
    this.#effects.begin()
    const { scenario, reference } = this.#options
    for (const step of scenario.steps) await this.#step(step)
    this.#place = "the time after the last step"
    this.#lives.wake()
    await this.#pass(tailMs)
    this.#effects.end()
    // It may have been frozen after the last step.
    if (this.#lives.wake()) await this.#pass(tailMs)
    for (const step of scenario.afterwards ?? []) await this.#step(step)
    this.#place = "the end"
    await this.#checks.look("the end")
    result.end = await this.#settle(reference?.end ?? null)
    // A planted fault is found.
    if (this.#options.plant !== null && this.#checks.faults.length > 0) return
    await this.#repeat()
    this.#place = "the deletion"
    for (const step of scenario.steps)
      if (step.type === "ask" && step.path.startsWith("/sandboxes?"))
        await this.#delete(`/sandboxes/{${step.name}}`, step)
    for (const path of scenario.leaves ?? []) await this.#delete(path, { name: path })
    result.afterDeletion = await this.#settle(reference?.afterDeletion ?? null)
    // Events of the audit log, and charges.
    await this.#pass(tailMs)
    await this.#checks.atTheEnd(this.#clock.currentTimeMillisUnsafe(), reference?.audited ?? null)
    result.audited = await this.#checks.audited()
  }

  // --- the service --------------------------------------------------------------------------------------------------

  #query<A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>): Promise<A> {
    return Effect.runPromiseWith(this.#options.database)(effect)
  }

  /** If it ended, the next one starts, and answers as it did. */
  async #revive(): Promise<void> {
    if (!this.#lives.isStruck) return
    await this.#lives.endServing()
    await this.#checks.look("the end of the service")
    await this.#lives.start()
    await this.#checks.look("the start of the next service")
    await this.#repeat()
  }

  async #pass(ms: number): Promise<void> {
    const end = this.#clock.currentTimeMillisUnsafe() + ms
    while (true) {
      await this.#lives.rest()
      await this.#revive()
      if (!this.#clock.tick(end)) break
    }
    await this.#lives.rest()
    await this.#revive()
  }

  async #endClock(): Promise<void> {
    if (this.#databaseClock === null) return
    await this.#query(this.#databaseClock.removed)
    this.#databaseClock.close()
  }

  // --- steps --------------------------------------------------------------------------------------------------------

  async #step(step: ScenarioStep): Promise<void> {
    this.#place = step.name
    await this.#do(step)
    await this.#checks.look(step.name)
  }

  async #do(step: ScenarioStep): Promise<void> {
    switch (step.type) {
      case "world":
        // Machines are slow enough for the next service to own its actors by then.
        if (this.#lives.hasFrozen) await this.#pass(takeOverMs)
        step.happen({
          world: this.#world,
          ids: this.#credentials.ids,
          nowMs: this.#clock.currentTimeMillisUnsafe(),
          hosts: this.#hosts
        })
        await this.#pass(0)
        return
      case "command": {
        const printed = await this.#query(Effect.provideService(step.run, Clock.Clock, this.#clock))
        for (const [name, text] of printed) this.#credentials.ids.set(name, text)
        return
      }
      case "pass":
        // A deadline of its actors may fall into a time without the service.
        if (this.#effects.strikes(`before ${step.name}`)) {
          this.#lives.strike()
          await this.#lives.endServing()
          const end = this.#clock.currentTimeMillisUnsafe() + step.ms
          while (this.#clock.tick(end)) await turn()
          await this.#lives.start()
          await this.#repeat()
        }
        return this.#pass(step.ms)
      case "ask": {
        // What it needs was in an answer that was lost.
        if (this.#credentials.of(step.as) === null && this.#effects.wasStruck) return
        const { answering, answer } = await this.#ask(step)
        await this.#lateAnswer()
        this.#credentials.learn(step.name, answer)
        this.#checks.answered(step, answering, answer)
        await this.#pass(0)
      }
    }
  }

  async #ask(step: AskStep, as = step.name): Promise<{ readonly answering: AskStep; readonly answer: Answer }> {
    let last: Answer | null = null
    for (let tries = 0; tries < triesMax; tries++) {
      const late = step.isOnce ? await this.#lateAnswer() : null
      if (late !== null && late.status < 500) return { answering: step, answer: late }
      if (tries > 0 && step.first !== undefined) {
        const found = await this.#ask(step.first)
        if (this.#checks.isContent(step.first, found.answer)) return found
      }
      const answer = await this.#exchange(step, as)
      const isRefused = answer !== null && answer.status >= 400 && answer.status < 500
      if (isRefused && tries > 0 && step.otherwise !== undefined) return this.#ask(step.otherwise)
      if (answer !== null && answer.status < 500) return { answering: step, answer }
      last = answer ?? last
      await this.#pass(1000)
    }
    throw new Error(`${as} has no answer after ${triesMax} tries, but ${JSON.stringify(last)}.`)
  }

  /**
   * A frozen service may do a change once it is woken, at any later time. Where no log has its request, the client goes on when that is over, too.
   * Null: there is no such change, or its service has ended.
   */
  async #lateAnswer(): Promise<Answer | null> {
    const unanswered = this.#unanswered
    this.#unanswered = null
    if (unanswered === null || (await this.#query(isLogged(unanswered.requestId)))) return null
    this.#lives.wake()
    return this.#answerOf(unanswered.asking, unanswered.isSlow)
  }

  /** Null: no answer arrived. */
  async #exchange({ isSlow = false, ...step }: AskStep, name: string): Promise<Answer | null> {
    const { method, key, bytes } = step
    const credential = this.#credentials.of(step.as)
    if (credential === null) throw new Error(`${name} asks as ${step.as}, which is not there.`)
    const requestId = `${name}/${++this.#tries}`.replaceAll(" ", "_")
    const headers = {
      ...credential,
      "x-request-id": requestId,
      ...(bytes === undefined ? {} : { "content-type": bytes.type }),
      ...(key === null ? {} : { "idempotency-key": key })
    }
    const path = `${step.path.startsWith("/console/") ? "" : "/api/v2"}${this.#credentials.filled(step.path)}`
    const json =
      step.body === undefined ? {} : { body: JSON.parse(this.#credentials.filled(JSON.stringify(step.body))) }
    const body = bytes === undefined ? json : { body: bytes.bytes }
    const asking = this.#lives.next.ask(name, { method, path, headers, ...body })
    const answer = await this.#answerOf(asking, isSlow)
    const told = (said: Answer) => this.#checks.told(requestId, step, name, said)
    if (answer !== null) told(answer)
    else {
      if (mayBeDoneLate(step)) this.#unanswered = { requestId, asking, isSlow }
      void asking.then((late) => {
        if (late === null) return
        told(late)
        this.#late.push({ name, answer: late })
      })
    }
    await this.#revive()
    return answer
  }

  async #delete(path: string, { name, as }: Pick<AskStep, "name" | "as">): Promise<void> {
    const who = as === undefined ? {} : { as }
    await this.#ask({
      type: "ask",
      name: `delete ${name}`,
      method: "DELETE",
      path,
      key: null,
      isRepeated: false,
      ...who
    })
  }

  /** Time passes only where the answer waits for it. */
  async #answerOf(asking: Promise<Answer | null>, isSlow: boolean): Promise<Answer | null> {
    const began = realNow()
    const standsUntil = isSlow ? began + slowWithinMs : 0
    let answer: Answer | null | undefined
    void asking.then((found) => {
      answer = found
    })
    while (answer === undefined) {
      await this.#lives.rest()
      // What works in another thread is not seen.
      if (answer === undefined) await new Promise((resolve) => setTimeout(resolve, 2))
      await this.#lives.rest()
      if (answer !== undefined) break
      if (this.#lives.isStruck) for (let turns = 0; turns < 10 && answer === undefined; turns++) await turn()
      if (this.#lives.isStruck) break
      if (realNow() >= standsUntil) this.#clock.tick(this.#clock.currentTimeMillisUnsafe() + 1000)
    }
    // A lease of a key that ended in real time has ended by the run's, too.
    if (isSlow && this.#databaseClock !== null) await this.#pass(Math.ceil(realNow() - began))
    return answer ?? null
  }

  /** Every request with a lasting answer, once more. */
  async #repeat(): Promise<void> {
    for (const { step, answer } of this.#checks.keyed) {
      const again = await this.#ask(step, `${step.name} again`)
      this.#checks.repeated(step, answer, again.answer)
      for (const late of this.#late) {
        const isOfStep = late.name === step.name || late.name === `${step.name} again`
        if (isOfStep && late.answer.status < 300) this.#checks.repeated(step, late.answer, again.answer)
      }
    }
  }

  /** Until the database and the machines are as they shall be; without a reference, until nothing changes. */
  async #settle(reference: ReadonlyArray<string> | null): Promise<ReadonlyArray<string>> {
    const within = this.#options.plant === null ? settleWithinMs : settlePlantedWithinMs
    const end = this.#clock.currentTimeMillisUnsafe() + within
    let last: ReadonlyArray<string> = []
    let same = 0
    while (true) {
      const carriers = carriersOf({ world: this.#world, volumes: this.#volumes }, this.#hosts)
      const now = await this.#query(endOf(carriers, new Set(this.#credentials.ids.values())))
      const isSettled = await this.#checks.isSettled()
      same = isSettled && sameLines(now, last) ? same + 1 : 0
      last = now
      if (reference === null ? same >= 3 : isSettled && sameLines(now, reference)) return now
      if (this.#clock.currentTimeMillisUnsafe() >= end) {
        this.#checks.faults.push(`It does not end as without a strike: ${differenceOf(reference ?? [], now)}`)
        return now
      }
      await this.#pass(lookEveryMs)
      await this.#checks.look("the end")
    }
  }
}
