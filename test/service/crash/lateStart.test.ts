/**
 * A start that was in flight when its service crashed may reach the agent after the next service has ended the command.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { makeAgentGuest } from "../../../src/runtime/agentClient/AgentGuest.ts"
import type { ProcessSpec } from "../../../src/runtime/Guest.ts"
import { TestAgent } from "../../support/files/TestAgent.ts"

const agent = Effect.acquireRelease(
  Effect.promise(async () => {
    const base = mkdtempSync(join(tmpdir(), "atoll-late-"))
    mkdirSync(join(base, "workspace"))
    const started = await TestAgent.start(base)
    return { base, agent: started, processes: makeAgentGuest(started.session).processes }
  }),
  ({ base, agent }) =>
    Effect.promise(async () => {
      await agent.kill()
      rmSync(base, { recursive: true, force: true })
    })
)

const touch = (base: string, file: string): ProcessSpec => ({
  argv: ["touch", file],
  cwd: join(base, "workspace"),
  env: {},
  stdin: null,
  timeoutMs: null,
  output: { mode: "window", bytes: 1024 }
})

it.live("an agent does nothing for a start whose key was killed before", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const { base, processes } = yield* agent
      const killed = yield* Effect.flip(processes.kill("k", { graceMs: 100 }))
      assert.strictEqual(killed._tag, "ProcessUnknown")
      yield* processes.start("k", touch(base, "late"))
      assert.deepStrictEqual(yield* processes.list, [])
      assert.isFalse(existsSync(join(base, "workspace/late")))
    })
  )
)

it.live("an agent does nothing for a start whose outcome was stored and forgotten", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const { base, processes } = yield* agent
      yield* Stream.runDrain(processes.run("k", touch(base, "once")))
      assert.isTrue(existsSync(join(base, "workspace/once")))
      yield* processes.forget("k")
      rmSync(join(base, "workspace/once"))
      yield* processes.start("k", touch(base, "once"))
      assert.deepStrictEqual(yield* processes.list, [])
      assert.isFalse(existsSync(join(base, "workspace/once")))
    })
  )
)

it.live("a kill reaches a command that is still being started", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const { base, processes } = yield* agent
      const spec = { ...touch(base, "-"), argv: ["sleep", "1000"] }
      const [, killed] = yield* Effect.all(
        [processes.start("k", spec), Effect.result(processes.kill("k", { graceMs: 100 }))],
        { concurrency: "unbounded" }
      )
      // Either message may come first: nothing runs in the end.
      const left = yield* Effect.repeat(processes.list, { until: (all) => all.every(({ running }) => !running) })
      assert.strictEqual(left.length, killed._tag === "Success" ? 1 : 0)
    })
  )
)
