/** The service repeats a start whose answer was lost. An agent that replaced the one which started the command does not run it a second time. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { signalPid } from "../../../src/agent/processes/ProcessTree.ts"
import { makeAgentGuest } from "../../../src/runtime/agentClient/AgentGuest.ts"
import type { ProcessSpec } from "../../../src/runtime/Guest.ts"
import { TestAgent } from "../../support/files/TestAgent.ts"
import { untilFound } from "../../support/until.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => {
    const base = mkdtempSync(join(tmpdir(), "atoll-started-"))
    mkdirSync(join(base, "workspace"))
    return base
  }),
  (base) =>
    Effect.sync(() => {
      // They outlive the agents that started them, but for one that is forgotten.
      const pids = readFileSync(join(base, "workspace/pids"), "utf8").trim().split("\n").map(Number)
      for (const pid of pids) signalPid(pid, "SIGTERM")
      rmSync(base, { recursive: true, force: true })
    })
)

const goesOn = "echo $$ >> pids; exec sleep 1000"

const agentIn = (base: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(() => TestAgent.start(base)),
      (agent) => Effect.promise(() => agent.kill())
    ),
    (agent) => ({ agent, processes: makeAgentGuest(agent.session).processes })
  )

const fromTheStart = { stdoutOffset: 0, stderrOffset: 0 }

it.live("a command that an earlier agent started is not run again; one that only waited for its turn is", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const base = yield* folder
      const ran = join(base, "workspace/ran")
      const spec = (script: string, turnsMax?: number): ProcessSpec => ({
        argv: ["sh", "-c", script],
        cwd: join(base, "workspace"),
        env: {},
        stdin: null,
        timeoutMs: null,
        output: { mode: "window", bytes: 1024 },
        ...(turnsMax === undefined ? {} : { turnsMax })
      })
      const noted = (name: string) => spec(`echo ${name} >> ran; ${goesOn}`, 1)
      const names = () => (existsSync(ran) ? readFileSync(ran, "utf8").trim().split("\n") : [])

      const first = yield* agentIn(base)
      yield* first.processes.start("operation", noted("operation"))
      yield* first.processes.start("other", spec(`echo other >> ran; ${goesOn}`))
      yield* Effect.forkScoped(first.processes.start("waiting", noted("waiting")), { startImmediately: true })
      yield* first.processes.start("forgotten", spec("true"))
      yield* first.processes.forget("forgotten")
      const refused = { ...spec("true"), cwd: join(base, "nowhere") }
      assert.strictEqual((yield* Effect.flip(first.processes.start("refused", refused)))._tag, "SpawnRefused")
      yield* Effect.promise(() => untilFound(() => names().length === 2))
      yield* Effect.promise(() => first.agent.kill())

      const { processes } = yield* agentIn(base)
      for (const key of ["operation", "other"]) {
        yield* processes.start(key, noted("twice"))
        assert.strictEqual(
          (yield* Effect.flip(Stream.runDrain(processes.attach(key, fromTheStart))))._tag,
          "ProcessUnknown"
        )
      }
      yield* processes.start("waiting", noted("waiting"))
      // It was refused before, so nothing of it has run.
      yield* processes.start("refused", spec("echo refused >> ran"))
      yield* Effect.promise(() => untilFound(() => names().includes("waiting") && names().includes("refused")))
      assert.sameMembers(names(), ["operation", "other", "waiting", "refused"])

      // The service has stored the outcome: nothing is kept of a command that it forgets.
      for (const key of ["operation", "other", "waiting", "refused"]) yield* processes.forget(key)
      assert.deepStrictEqual(readdirSync(join(base, "run/started")), [])
    })
  )
)
