/** One run: the steps are done in order, with the service at rest in between, and everything is checked after each. */

import { Cause, Clock, Context, Effect, Exit, References, Tracer } from "effect"
import { SqlClient } from "effect/sql"
import type { AnyStateMachine } from "xstate"
import { operationMachine } from "../../../machines/operation.ts"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import type { OperationContext } from "../../../schemas/contexts/Operation.ts"
import type { SandboxContext } from "../../../schemas/contexts/Sandbox.ts"
import type { SnapshotContext } from "../../../schemas/contexts/Snapshot.ts"
import { publicText } from "../../../schemas/PublicText.ts"
import type { AnyEvent } from "../../../src/engine/ActorDefinition.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import type { SimulatedMachine, SimulatedProcess } from "../../../src/host/simulated/SimulatedWorld.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Images } from "../../../src/image/Images.ts"
import { Operations } from "../../../src/operation/Operations.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { Snapshots } from "../../../src/snapshot/Snapshots.ts"
import { logFaults } from "../ActorLogs.ts"
import { recordHistories } from "../histories/recordHistories.ts"
import { check } from "../wallet/Witness.ts"
import type { Connections, DatabaseContext } from "./Connections.ts"
import { copyExchange, isCopyStep, keyOfCopy, rollbackFault, strayCopies, unsettledCopy } from "./copies.ts"
import { expectedErrors } from "./expectedErrors.ts"
import { GatedRuntime } from "./GatedRuntime.ts"
import { Gates } from "./Gates.ts"
import { ManualClock } from "./ManualClock.ts"
import { buildExchange, buildOutput, isBuildStep, keyOfSandbox, strayBuilder } from "./raceBuilds.ts"
import { limits, type ServiceCalls, ServiceLife } from "./ServiceLife.ts"
import { Stillness, turn } from "./Stillness.ts"
import { type ClientStep, changes, programs, type Step, type WorldStep } from "./steps.ts"
import {
  accountId,
  actorRows,
  clear,
  heldBuilds,
  keyedStarts,
  loggedStates,
  money,
  unsettledWallets,
  workspaces
} from "./storedRun.ts"
import { type ActorFact, isTerminal, Witness } from "./Witness.ts"

const epochMs = 1_700_000_000_000
const settleWithinMs = 150_000
/** Real time: a step takes some milliseconds. */
const stuckAfterMs = 60_000
const request = { requestId: "req_race", exhaustedAt: null }
const runtimeEvents = ["RUNTIME_UP", "RUNTIME_REFUSED", "RUNTIME_FAILED", "RUNTIME_DOWN", "RUNTIME_STOPPED"]

const lateOutcomes: ReadonlyArray<AnyEvent> = [
  { type: "STARTED" },
  { type: "EXITED", exitCode: 99, signal: null, processTree: "gone" },
  { type: "LOST", reason: { code: "LATE", message: publicText`Too late.` } }
]

/** A program's first output; after it, bytes that encode their own offset. */
const firstOutput = (program: ReadonlyArray<string>) =>
  Buffer.from(
    program[0] === "echo" ? "words\n" : program[0] === "hang" ? "hanging\n" : program[0] === "cat" ? "stdin" : ""
  )

const expectedOutput = (first: Buffer, length: number) => {
  const bytes = Buffer.alloc(length)
  for (let index = 0; index < length; index++) bytes[index] = index < first.length ? first[index]! : index % 251
  return bytes
}

const commandOf = (program: number) => ({
  argv: [...programs[program]!],
  env: {},
  stdin: programs[program]![0] === "cat" ? "stdin" : null,
  encoding: "utf8" as const
})

export class RaceRun {
  readonly #gates = new Gates()
  readonly #clock = new ManualClock(epochMs)
  readonly #stillness = new Stillness()
  readonly #witness = new Witness()
  readonly #context: DatabaseContext
  readonly #connections: Connections
  readonly #world: SimulatedWorld
  readonly #runtime: GatedRuntime
  readonly #outputLengths = new Map<string, number>()
  #lives: Array<ServiceLife> = []
  #facts: ReadonlyArray<ActorFact> = []
  #had2Lives = false
  #hadCrash = false

  private constructor(database: DatabaseContext, connections: Connections, world: SimulatedWorld) {
    this.#connections = connections
    this.#context = database.pipe(
      Context.add(Clock.Clock, this.#clock),
      Context.add(Tracer.Tracer, this.#stillness.tracer),
      Context.add(References.MinimumLogLevel, "None")
    )
    this.#world = world
    world.storedBytes = limits.copyBytes
    this.#runtime = new GatedRuntime(world, this.#gates)
  }

  /** Fails with the first broken invariant. The database must be private. */
  static async of(database: DatabaseContext, connections: Connections, steps: ReadonlyArray<Step>): Promise<void> {
    const run = new RaceRun(database, connections, await Effect.runPromise(SimulatedWorld.make))
    let place = "the start"
    const all = async () => {
      await run.#query(clear)
      // It does not wait for statements that it does not see, and a run that does not wait reports false faults.
      if (run.#stillness.begun === 0) throw new Error("The run does not see what is asked of the database.")
      await run.#startLife()
      for (const [index, step] of steps.entries()) {
        place = `step ${index} ${JSON.stringify(step)}`
        await run.#do(step)
        await run.#check(place)
      }
      place = "the end"
      await run.#end()
    }
    let timer: NodeJS.Timeout | undefined
    const stuck = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`Stuck in ${place}; held: ${run.#gates.heldCalls}`)), stuckAfterMs)
    })
    try {
      await Promise.race([all(), stuck])
    } finally {
      run.#gates.open()
      for (const life of run.#lives) void life.crash(() => run.#stillness.reached())
      await Promise.race([run.#stillness.reached(), stuck]).catch(() => {})
      clearTimeout(timer)
    }
  }

  #query<A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>): Promise<A> {
    return Effect.runPromiseWith(this.#context)(effect)
  }

  async #startLife() {
    let life: ServiceLife | null = null
    // Before its time passes: opening them takes the machine's time, and a repeated run has other times.
    const pools = await Effect.runPromise(this.#connections.take)
    const starting = ServiceLife.start(
      this.#context,
      this.#connections,
      pools,
      this.#runtime.service,
      this.#gates
    ).then((started) => {
      life = started
    })
    while (life === null) {
      await Promise.race([starting, this.#stillness.reached()])
      // A start first compares the host with its rows, and waits for that.
      this.#gates.release(0)
      if (life === null) this.#clock.tick(this.#clock.currentTimeMillisUnsafe() + 50)
    }
    this.#lives.push(life)
    await this.#stillness.reached()
  }

  #idOf(kind: string, key: string) {
    return this.#facts.find((fact) => fact.kind === kind && fact.key === key)?.id
  }

  // --- steps --------------------------------------------------------------------------------------------------------

  async #do(step: Step): Promise<void> {
    switch (step.type) {
      case "together": {
        for (const one of step.steps) this.#begin(one)
        if (step.crashAfterTurns !== null) {
          for (let turns = 0; turns < step.crashAfterTurns; turns++) await turn()
          await this.#crash(0, [])
        }
        break
      }
      case "crash":
        await this.#crash(step.life, step.meanwhile)
        break
      case "twin":
        this.#had2Lives = true
        if (this.#lives.length === 1) await this.#startLife()
        else {
          await this.#lives.pop()!.crash(() => this.#stillness.reached())
          await this.#stillness.reached()
        }
        break
      case "repeatEvent":
        await this.#repeatEvent(step)
        break
      case "lateOutcome": {
        const known = this.#facts.find(({ kind, key }) => kind === "operation" && key === `o${step.operation}`)
        if (known === undefined || !isTerminal(known.status)) break
        for (const event of lateOutcomes) this.#tell(step.life, operationMachine, known.id, event)
        break
      }
      case "disturb":
        this.#gates.add(step.rule)
        break
      case "release":
        this.#gates.release(step.index)
        break
      case "releaseAll":
        this.#gates.open()
        break
      case "advance":
        await this.#advance(step.ms)
        break
      default:
        this.#begin(step)
    }
    await this.#stillness.reached()
  }

  #begin(step: ClientStep | WorldStep) {
    if ("life" in step) this.#lives[step.life % this.#lives.length]!.call(this.#request(step))
    else this.#happen(step)
  }

  async #crash(index: number, meanwhile: ReadonlyArray<WorldStep>) {
    const life = this.#lives[index % this.#lives.length]!
    this.#hadCrash = true
    this.#lives = this.#lives.filter((other) => other !== life)
    await life.crash(() => this.#stillness.reached())
    // The database finishes the statements that it has.
    await this.#stillness.reached()
    for (const step of meanwhile) this.#happen(step)
    await this.#startLife()
  }

  async #advance(ms: number) {
    const end = this.#clock.currentTimeMillisUnsafe() + ms
    while (this.#clock.tick(end)) await this.#stillness.reached()
  }

  async #repeatEvent(step: Extract<Step, { readonly type: "repeatEvent" }>) {
    const id = this.#idOf("sandbox", `k${step.sandbox}`)
    if (id === undefined) return
    const events = await this.#query(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql<{ readonly event: { readonly type: string } }>`
          select event - 'at' as event from transitions
          where actor_id = ${id} and event ->> 'type' in ${sql.in(runtimeEvents)} order by revision`
      )
    )
    const found = events[step.index % Math.max(1, events.length)]
    if (found === undefined) return
    this.#tell(step.life, sandboxMachine, id, found.event)
  }

  /** An event of the runtime; its refusal is no fault. */
  #tell(life: number, machine: AnyStateMachine, id: string, event: AnyEvent) {
    this.#lives[life % this.#lives.length]!.call(
      Effect.flatMap(ActorHost, (host) => host.send(machine, id, event, { cause: "runtime" })).pipe(
        Effect.ignoreCause,
        Effect.asVoid
      )
    )
  }

  #processOf(operation: number): { readonly id: string; readonly process: SimulatedProcess } | null {
    const id = this.#idOf("operation", `o${operation}`)
    if (id === undefined) return null
    for (const machine of this.#world.machines.values()) {
      const process = machine.processes.get(id)
      if (process !== undefined) return { id, process }
    }
    return null
  }

  #happen(step: WorldStep) {
    switch (step.type) {
      case "crashMachine": {
        const id = this.#idOf("sandbox", `k${step.sandbox}`)
        if (id !== undefined) this.#world.crash(id)
        break
      }
      case "write": {
        const found = this.#processOf(step.operation)
        if (found === null) break
        const { stdout } = found.process.offsets
        found.process.write("stdout", expectedOutput(Buffer.alloc(0), stdout + step.bytes).subarray(stdout))
        this.#outputLengths.set(found.id, found.process.offsets.stdout)
        break
      }
      case "finish":
        this.#processOf(step.operation)?.process.end(
          { exitCode: step.exitCode, signal: step.exitCode === null ? "SIGSEGV" : null },
          this.#clock.currentTimeMillisUnsafe()
        )
        break
      case "finishBoot":
        Effect.runFork(this.#runtime.finishBoot(step.index))
    }
  }

  // --- clients ------------------------------------------------------------------------------------------------------

  #request(step: ClientStep): Effect.Effect<void, never, ServiceCalls> {
    const expected: ReadonlyArray<string> = expectedErrors[step.type]
    return this.#exchange(step).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return
          const error = Cause.squash(exit.cause)
          const name = String((error as { readonly _tag?: string })._tag ?? error)
          const text = String(error)
          const isForeseen = Cause.hasFails(exit.cause)
            ? expected.includes(name)
            : text.includes("The connection was lost.") || (this.#had2Lives && text.includes("found no owner"))
          if (!isForeseen)
            this.#witness.fault(`${JSON.stringify(step)} was answered with ${name}: ${Cause.pretty(exit.cause)}`)
        })
      ),
      Effect.ignoreCause
    )
  }

  #exchange(step: ClientStep): Effect.Effect<void, unknown, ServiceCalls> {
    const witness = this.#witness
    const idOf = (kind: string, key: string) => this.#idOf(kind, key)
    const facts = this.#facts
    if (isCopyStep(step)) return copyExchange(step, { accountId, facts, idOf, witness })
    if (isBuildStep(step)) return buildExchange(step, { accountId, facts, idOf, witness })
    const sandboxId = "sandbox" in step ? this.#idOf("sandbox", `k${step.sandbox}`) : undefined
    const operationId =
      "operation" in step && step.type !== "operation" ? this.#idOf("operation", `o${step.operation}`) : undefined
    const operationSandbox = this.#facts.find(({ id }) => id === operationId)?.sandbox_id
    switch (step.type) {
      case "create":
        return Effect.gen(function* () {
          const key = `k${step.sandbox}`
          const body = `f${step.body}`
          const { sandbox, replayStatus } = yield* (yield* Sandboxes)
            .create({
              ...request,
              accountId,
              idempotencyKey: key,
              fingerprint: body,
              request: {
                workspaceId: workspaces[step.body]!,
                name: key,
                networkEnabled: false,
                metadata: {},
                env: {},
                lifetime: null
              }
            })
            .pipe(Effect.tapErrorTag("IDEMPOTENCY_CONFLICT", () => Effect.sync(() => witness.conflict(key, body))))
          witness.acknowledge(key, body, sandbox.id)
          witness.sandbox(sandbox)
          if ((sandbox.status === "pending") !== (replayStatus === 202)) {
            witness.fault(`${key} was answered ${replayStatus} while ${sandbox.status}`)
          }
        })
      case "operation": {
        if (sandboxId === undefined) return Effect.void
        const { operation, program, timeoutSeconds } = step
        return Effect.gen(function* () {
          const key = `o${operation}`
          const body = JSON.stringify([sandboxId, program, timeoutSeconds])
          const started = yield* (yield* Operations)
            .start(accountId, sandboxId, {
              ...request,
              idempotencyKey: key,
              fingerprint: body,
              request: { ...commandOf(program), cwd: `/workspace/${key}`, timeoutSeconds }
            })
            .pipe(Effect.tapErrorTag("IDEMPOTENCY_CONFLICT", () => Effect.sync(() => witness.conflict(key, body))))
          witness.acknowledge(key, body, started.id)
          witness.operation(started)
        })
      }
      case "start":
      case "stop":
      case "remove": {
        if (sandboxId === undefined) return Effect.void
        return Effect.gen(function* () {
          const sandboxes = yield* Sandboxes
          if (step.type === "start") {
            const idempotencyKey = step.key === null ? null : `s${step.sandbox}.${step.key}`
            const { requestId, exhaustedAt } = request
            witness.sandbox(
              yield* sandboxes.start(accountId, sandboxId, {
                requestId: idempotencyKey ?? requestId,
                idempotencyKey,
                exhaustedAt
              })
            )
          } else if (step.type === "stop") {
            witness.sandbox(yield* sandboxes.stop(accountId, sandboxId, request))
          } else {
            yield* sandboxes.remove(accountId, sandboxId, request)
            witness.told.add(`${sandboxId} deleting`)
          }
        })
      }
      case "update":
        if (sandboxId === undefined) return Effect.void
        return Effect.gen(function* () {
          const options = { requestId: request.requestId, request: changes[step.change]!, mayDelete: true }
          witness.sandbox(yield* (yield* Sandboxes).update(accountId, sandboxId, options))
        })
      case "sleep":
        if (sandboxId === undefined) return Effect.void
        return Effect.flatMap(ActorHost, (host) =>
          host
            .send(sandboxMachine, sandboxId, { type: "SLEEP" }, { cause: "idle" })
            .pipe(Effect.catchTag("EventRefused", () => Effect.void))
        )
      case "execute":
        if (sandboxId === undefined) return Effect.void
        return Effect.gen(function* () {
          const { timeoutSeconds, program } = step
          const result = yield* (yield* Operations).execute(
            accountId,
            sandboxId,
            { ...commandOf(program), cwd: "/workspace", timeoutSeconds },
            request
          )
          const { stdout } = result
          const first = firstOutput(programs[program]!).toString()
          if (stdout !== first)
            witness.fault(`an execute wrote ${JSON.stringify(stdout)}, not ${JSON.stringify(first)}`)
        })
      case "cancel":
      case "get":
      case "wait":
      case "output": {
        if (operationId === undefined || operationSandbox === undefined) return Effect.void
        const length = this.#outputLengths
        const first = this.#firstOutputOf(operationId)
        return Effect.gen(function* () {
          const operations = yield* Operations
          if (step.type === "output") {
            const range = { stream: "stdout" as const, offset: 0, limit: 100_000 }
            const chunk = yield* operations.output(accountId, operationSandbox, operationId, range)
            const most = Math.max(first.length, length.get(operationId) ?? 0)
            const { bytes } = chunk
            if (!expectedOutput(first, most).subarray(0, bytes.length).equals(bytes)) {
              witness.fault(`${operationId} shows output that it did not write`)
            }
          } else if (step.type === "wait") {
            const waited = yield* operations.wait(accountId, operationSandbox, operationId, {
              timeoutSeconds: step.timeoutSeconds,
              stdoutOffset: null,
              stderrOffset: null
            })
            witness.operation(waited)
          } else if (step.type === "get") {
            witness.operation(yield* operations.get(accountId, operationSandbox, operationId))
          } else {
            const cancelled = yield* operations.cancel(accountId, operationSandbox, operationId, request)
            witness.operation(cancelled)
            if (!isTerminal(cancelled.status)) witness.fault(`a cancel of ${operationId} left it ${cancelled.status}`)
          }
        })
      }
    }
  }

  #firstOutputOf(operationId: string) {
    const built = buildOutput(this.#facts, operationId)
    return built === null
      ? firstOutput(this.#facts.find(({ id }) => id === operationId)?.argv ?? [])
      : Buffer.from(built)
  }

  // --- checks -------------------------------------------------------------------------------------------------------

  async #look() {
    const waited = new Set(this.#facts.flatMap(({ id, status }) => (status === "queued" ? [id] : [])))
    const rows = await this.#query(actorRows)
    this.#facts = rows.map((row): ActorFact => {
      const operation = row.context as OperationContext
      const sandbox = row.context as SandboxContext
      const isSandbox = row.kind === "sandbox"
      return {
        ...row,
        generation: operation.generation,
        hasStarted: row.kind === "operation" && operation.startedAt !== null,
        key: isSandbox
          ? keyOfSandbox(row.id, sandbox)
          : row.kind === "operation"
            ? row.cwd?.slice("/workspace/".length) || row.id
            : keyOfCopy(row.id, row.context as SnapshotContext),
        workspaceId: isSandbox ? sandbox.workspaceId : null,
        result:
          row.kind !== "operation"
            ? null
            : JSON.stringify([
                row.status,
                operation.exitCode,
                operation.signal,
                operation.reason?.code ?? null,
                operation.finishedAt
              ])
      }
    })
    this.#witness.observe(this.#facts)
    for (const { spec } of this.#runtime.machines) {
      const inside = this.#facts.filter(
        ({ sandbox_id, generation }) => sandbox_id === spec.sandboxId && generation === spec.generation
      )
      this.#witness.turns(inside, waited, this.#runtime.sent(spec.sandboxId, spec.generation))
    }
  }

  /** The invariants of every moment. */
  async #check(after: string) {
    await this.#look()
    const witness = this.#witness
    const sandboxes = this.#facts.filter(({ kind }) => kind === "sandbox")
    const counted = sandboxes.filter(({ status }) => status !== "deleted" && status !== "expired")
    if (counted.length > limits.sandboxes)
      witness.fault(`${counted.length} Sandboxes; the limit is ${limits.sandboxes}`)
    for (const workspace of workspaces) {
      const bytes = counted.filter(({ workspaceId }) => workspaceId === workspace).length * limits.volumeBytes
      if (bytes > limits.workspaceBytes) witness.fault(`${bytes} bytes of volumes in ${workspace}`)
    }
    for (const id of [...this.#world.machines.keys(), ...this.#world.volumes]) {
      const row = sandboxes.find((fact) => fact.id === id)
      if (row === undefined) witness.fault(`the host has ${id}, which no row knows`)
      else if (row.status === "deleted" && !this.#had2Lives && !this.#runtime.lateBoots.has(id)) {
        witness.fault(`${row.key} is deleted, but the host has ${id}`)
      }
    }
    // A crash leaves the work of the host as it is until a reconciler looks.
    for (const stray of strayCopies(this.#facts, this.#world, this.#had2Lives || this.#hadCrash)) witness.fault(stray)
    for (const { spec, starts, lateStarts, processes } of this.#runtime.machines) {
      const running = [...processes.values()].filter(({ exited, spec }) => !exited && spec.turnsMax !== undefined)
      if (running.length > limits.operations) witness.fault(`${running.length} operations run in ${spec.sandboxId}`)
      // The slower of two owners may send a command that the other has long finished; a single one never does.
      if (!this.#had2Lives && lateStarts.length > 0) witness.fault(`${lateStarts} was started again after its end`)
      for (const [key, times] of starts) {
        if (times > 1)
          witness.fault(`${key} was started ${times} times in generation ${spec.generation} of ${spec.sandboxId}`)
      }
    }
    this.#raise(after)
  }

  #raise(after: string) {
    if (this.#witness.faults.length > 0) throw new Error(`After ${after}: ${this.#witness.faults.join("; ")}`)
  }

  /** Why the service is not done yet with its requests. */
  #unsettled(): ReadonlyArray<string> {
    const { machines, volumes } = this.#world
    const sandboxes = new Map(this.#facts.filter(({ kind }) => kind === "sandbox").map((fact) => [fact.id, fact]))
    const reasons: Array<string> = []
    if (this.#lives.some(({ openCalls }) => openCalls > 0)) reasons.push("a client waits for its answer")
    for (const held of this.#gates.heldCalls) reasons.push(`held: ${held}`)
    for (const fact of this.#facts) {
      const sandbox = sandboxes.get(fact.sandbox_id)
      const isAwake = sandbox?.status === "running" && sandbox.generation === fact.generation
      const isAsleep = sandbox?.status === "sleeping" && sandbox.generation === fact.generation
      const says = (what: string) => reasons.push(`${fact.kind} ${fact.key} (${fact.status}) ${what}`)
      if (fact.kind === "sandbox") {
        if (!["running", "sleeping", "stopped", "failed", "expired", "deleted"].includes(fact.status))
          says("is on its way")
        if (fact.pending > 0) says("has commands to do")
        const machine = machines.get(fact.id)
        const state = { running: "running", sleeping: "suspended" }[fact.status]
        if (machine?.state !== state || (machine !== undefined && machine.spec.generation !== fact.generation)) {
          says(`has a machine that is ${machine?.state} in generation ${machine?.spec.generation}`)
        }
        const isGone = fact.status === "deleted" || fact.status === "expired"
        if (isGone && volumes.has(fact.id)) says("has a volume")
        // Any other deadline waits for idleness, or for the end of its lifetime.
        if (fact.due_at !== null && isGone) says("waits for a deadline")
        for (const wrong of [rollbackFault(fact, this.#facts, this.#world), strayBuilder(fact, this.#facts)])
          if (wrong !== null) says(wrong)
      } else if (fact.kind !== "operation") {
        const why = unsettledCopy(fact)
        if (why !== null) says(why)
      } else if (isTerminal(fact.status)) {
        if (fact.pending > 0 && !isAsleep) says("has commands to do")
        if (fact.due_at !== null) says("waits for a deadline")
      } else if (!isAsleep) {
        const machine = machines.get(fact.sandbox_id)
        const process = machine?.processes.get(fact.id)
        // It waits in the queue, and may for ever.
        if (fact.status === "queued" && isAwake && machine !== undefined && isFull(machine)) continue
        if (fact.status !== "running" || !isAwake || process === undefined || process.exited) says("should have ended")
      }
    }
    return reasons
  }

  async #settle(what: string, isDone: () => ReadonlyArray<string>) {
    const end = this.#clock.currentTimeMillisUnsafe() + settleWithinMs
    while (true) {
      await this.#stillness.reached()
      await this.#check(what)
      const wallets = await this.#query(unsettledWallets)
      const builds = await this.#query(heldBuilds)
      const reasons = [
        ...isDone(),
        ...wallets.map(({ status }) => `the wallet (${status}) is not done`),
        ...builds.map(({ sandbox_id }) => `the build in ${sandbox_id} has a lease`)
      ]
      if (reasons.length === 0) return
      if (this.#clock.currentTimeMillisUnsafe() >= end) throw new Error(`${what}, but: ${reasons.join("; ")}`)
      await this.#advance(3000)
    }
  }

  async #end() {
    this.#gates.open()
    await this.#settle("everything was released", () => this.#unsettled())
    await this.#checkOutput()
    // No deletion goes smoothly.
    this.#gates.add({ call: "destroy", phase: "before", action: "fail", left: 1 })
    this.#gates.add({ call: "destroy", phase: "after", action: "fail", left: 1 })
    for (const { kind, id } of this.#facts) this.#lives[0]!.call(Effect.ignoreCause(removal(kind, id)))
    await this.#settle("everything was deleted", () => [
      ...this.#unsettled(),
      ...this.#facts.flatMap(({ kind, key, status }) =>
        (kind === "operation" ? isTerminal(status) : status === "deleted") ? [] : [`${key} is ${status}`]
      ),
      ...this.#left()
    ])
    // A boot that the host continues for a dead service comes up now, and must go again.
    while (this.#runtime.unfinishedBoots.length > 0) await Effect.runPromise(this.#runtime.finishBoot(0))
    await this.#settle("late boots were finished", () => this.#left())
    await this.#checkMoney()
    for (const fault of await this.#query(logFaults)) this.#witness.fault(fault)
    await this.#query(Effect.flatMap(SqlClient.SqlClient, recordHistories))
    for (const { request_id, times } of await this.#query(keyedStarts)) {
      if (times > 1) this.#witness.fault(`the start key ${request_id} booted ${times} times`)
    }
    const logged = new Set((await this.#query(loggedStates)).map(({ actor_id, to_state }) => `${actor_id} ${to_state}`))
    for (const told of this.#witness.told) {
      if (!logged.has(told)) this.#witness.fault(`a client was told ${told}, which never was`)
    }
    this.#raise("the end")
  }

  #left(): ReadonlyArray<string> {
    const { machines, volumes, snapshots, images } = this.#world
    return [...machines.keys(), ...volumes, ...snapshots.keys(), ...images].map((id) => `the host still has ${id}`)
  }

  /** Every Sandbox's meter is closed, and the wallet's debits are those of its log. */
  async #checkMoney() {
    const { books, logs } = await this.#query(money)
    for (const [id, { log }] of logs) {
      const meter = books.meters.find(({ sandboxId }) => sandboxId === id)
      if (meter?.closedAt !== log.at(-1)!.at || meter.revision !== log.at(-1)!.revision) {
        this.#witness.fault(`the meter of ${id} stands at revision ${meter?.revision} of ${log.length}`)
      }
    }
    try {
      check(books, logs, this.#clock.currentTimeMillisUnsafe())
    } catch (error) {
      this.#witness.fault(`the ledger: ${(error as Error).message}`)
    }
  }

  /** A completed operation has all its output, byte by byte, and reports so. */
  async #checkOutput() {
    const witness = this.#witness
    for (const { id, kind, status, sandbox_id } of this.#facts) {
      if (kind !== "operation" || status !== "completed") continue
      const first = this.#firstOutputOf(id)
      const expected = expectedOutput(first, Math.max(first.length, this.#outputLengths.get(id) ?? 0))
      const range = { stream: "stdout" as const, offset: 0, limit: 262_144 }
      this.#lives[0]!.call(
        Effect.flatMap(Operations, (operations) => operations.output(accountId, sandbox_id, id, range)).pipe(
          Effect.tap(({ bytes, eof }) =>
            Effect.sync(() => {
              if (!expected.equals(bytes))
                witness.fault(`${id} completed with ${bytes.length} of ${expected.length} bytes`)
              if (!eof) witness.fault(`the output of ${id} has no end`)
            })
          ),
          Effect.ignoreCause
        )
      )
    }
    await this.#stillness.reached()
    this.#raise("reading all output")
  }
}

/** It runs as many operations as it may. */
const isFull = ({ processes }: SimulatedMachine) =>
  [...processes.values()].filter(({ exited, spec }) => !exited && spec.turnsMax !== undefined).length >=
  limits.operations

const removal = (kind: string, id: string): Effect.Effect<void, unknown, ServiceCalls> => {
  if (kind === "sandbox") return Effect.flatMap(Sandboxes, (sandboxes) => sandboxes.remove(accountId, id, request))
  if (kind === "snapshot") return Effect.flatMap(Snapshots, (snapshots) => snapshots.remove(accountId, id, request))
  return kind === "image" ? Effect.flatMap(Images, (images) => images.remove(accountId, id, request)) : Effect.void
}
