/** Commands of one queue wait in the agent, and the end of any other command starts the next. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { EXECUTES_MAX, RUNNING_MAX } from "../../../src/agent/wire.ts"
import { makeAgentGuest } from "../../../src/runtime/agentClient/AgentGuest.ts"
import type { GuestProcesses, ProcessSpec } from "../../../src/runtime/Guest.ts"
import { TestAgent } from "../../support/files/TestAgent.ts"

const agent = Effect.acquireRelease(
  Effect.promise(async () => {
    const base = mkdtempSync(join(tmpdir(), "atoll-turns-"))
    mkdirSync(join(base, "workspace"))
    const started = await TestAgent.start(base)
    const { processes } = makeAgentGuest(started.session)
    // Only the service knows which commands it runs.
    return { base, agent: started, processes, another: makeAgentGuest(started.session).processes }
  }),
  ({ base, agent }) =>
    Effect.promise(async () => {
      await agent.kill()
      rmSync(base, { recursive: true, force: true })
    })
)

const often = Schedule.spaced(10)

const specIn =
  (base: string) =>
  (argv: ReadonlyArray<string>, turnsMax?: number): ProcessSpec => ({
    argv,
    cwd: join(base, "workspace"),
    env: {},
    stdin: null,
    timeoutMs: null,
    output: { mode: "window", bytes: 1024 },
    ...(turnsMax === undefined ? {} : { turnsMax })
  })

const sleeping = ["sleep", "1000"]

const known = ({ list }: GuestProcesses) => Effect.map(list, (all) => all.map(({ key }) => key))

/** Sends the request as the service does, and repeats it; the agent has it once it has a later request. */
const ask = (processes: GuestProcesses, key: string, spec: ProcessSpec) =>
  Effect.forkScoped(processes.start(key, spec), { startImmediately: true })

it.live("queued commands run one after the other; a client that leaves or a killed command is skipped", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const { base, processes } = yield* agent
      const spec = specIn(base)
      yield* processes.start("first", spec(sleeping, 1))
      const leaver = yield* ask(processes, "leaver", spec(sleeping, 1))
      const killed = yield* ask(processes, "killed", spec(sleeping, 1))
      const next = yield* ask(processes, "next", spec(sleeping, 1))
      const last = yield* ask(processes, "last", spec(sleeping, 1))
      // The same connection answers them in order. A command outside the queue does not wait for them.
      yield* processes.start("other", spec(["true"]))
      assert.notInclude(yield* known(processes), "next")
      yield* Fiber.interrupt(leaver)
      assert.strictEqual((yield* Effect.flip(processes.kill("killed", { graceMs: 0 })))._tag, "ProcessUnknown")
      // The command was ended before it began: there is nothing more to do.
      yield* Fiber.join(killed)
      yield* processes.kill("first", { graceMs: 0 })
      yield* Fiber.join(next)
      assert.notInclude(yield* known(processes), "last")
      yield* processes.forget("next")
      yield* Fiber.join(last)
      assert.sameMembers(yield* known(processes), ["first", "other", "last"])
    })
  )
)

it.live("the end of a command outside the queue frees the last slot for the next queued one", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const { base, processes } = yield* agent
      const spec = specIn(base)
      const others = Array.from({ length: RUNNING_MAX }, (_, index) => `other-${index}`)
      yield* Effect.forEach(others, (key) => processes.start(key, spec(sleeping)), { concurrency: 16 })
      assert.strictEqual(
        (yield* Effect.flip(
          processes.start("refused", spec(sleeping)).pipe(Effect.catchTag("GuestUnavailable", Effect.die))
        )).code,
        "TOO_MANY_PROCESSES"
      )
      const waiting = yield* ask(processes, "waiting", spec(sleeping, 8))
      yield* Effect.flip(processes.start("refused", spec(sleeping)))
      assert.notInclude(yield* known(processes), "waiting")
      yield* processes.kill("other-7", { graceMs: 0 })
      yield* Fiber.join(waiting)
      // The slot went to the next in line before another command could take it.
      yield* Effect.flip(processes.start("refused", spec(sleeping)))
    })
  )
)

it.live("a queued command whose caller was lost is requested again", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const { base, agent: started, processes } = yield* agent
      const spec = specIn(base)
      yield* processes.start("first", spec(sleeping, 1))
      const asked = yield* ask(processes, "second", spec(["true"], 1))
      yield* processes.start("other", spec(["true"]))
      started.cutConnections()
      assert.isTrue((yield* Fiber.await(asked))._tag === "Failure")
      yield* processes.kill("first", { graceMs: 0 })
      yield* Effect.repeat(processes.list, {
        until: (all) => all.every(({ key, running }) => key !== "first" || !running),
        schedule: often
      })
      assert.notInclude(yield* known(processes), "second")
      yield* processes.start("second", spec(["true"], 1))
      assert.include(yield* known(processes), "second")
    })
  )
)

it.live("the executes of all services together are bounded, and other commands have room beside them", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const { base, processes, another } = yield* agent
      const spec = specIn(base)
      const surplus = 8
      const fibers = yield* Effect.forEach(Array.from({ length: EXECUTES_MAX + surplus }), (_, index) =>
        Effect.forkScoped((index % 2 === 0 ? processes : another).execute(`execute-${index}`, spec(sleeping)), {
          startImmediately: true
        })
      )
      const running = Effect.map(known(processes), (keys) => keys.filter((key) => key.startsWith("execute-")))
      const isFull = Effect.repeat(running, { until: ({ length }) => length >= EXECUTES_MAX, schedule: often })
      yield* isFull
      // Not at an instant: the agent heard the waiting ones before these.
      for (const other of ["operation-1", "operation-2"]) {
        yield* processes.start(other, spec(sleeping, 8))
        assert.lengthOf(yield* running, EXECUTES_MAX)
      }
      const [first] = yield* running
      yield* processes.kill(first!, { graceMs: 0 })
      yield* Fiber.join(fibers[Number(first!.split("-")[1])]!)
      yield* isFull
    })
  )
)
