/**
 * Every signal that ends a command is reported by its name, however the command was started. Agents that start their
 * commands by Node alone cannot.
 */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Guest } from "../../../../src/runtime/Guest.ts"
import { freshKey, gather, run, shell } from "./commands.ts"

export const signalContract = <E, R>(
  driver: string,
  guest: Effect.Effect<Guest, E, R>,
  cwd = "/workspace",
  timeoutMs = 20_000
): void => {
  it.live(
    `${driver}: death by a real-time signal is reported by its distance from the first`,
    () =>
      Effect.gen(function* () {
        const { processes } = yield* guest as Effect.Effect<Guest, E>
        const died = shell("kill -40 $$", { cwd })
        expect(yield* processes.execute(freshKey(), died)).toMatchObject({ exitCode: null, signal: "SIGRTMIN+6" })
        expect((yield* gather(processes.run(freshKey(), died))).exited.signal).toBe("SIGRTMIN+6")
        const withInput = { ...died, stdin: Buffer.from("input") }
        expect(yield* processes.execute(freshKey(), withInput)).toMatchObject({ signal: "SIGRTMIN+6" })
        // As an SSH session runs it.
        const channel = yield* processes.open({ argv: died.argv, cwd, env: {}, terminal: null, purpose: "ssh" })
        expect((yield* gather(channel.frames)).exited).toMatchObject({ exitCode: null, signal: "SIGRTMIN+6" })
        for (const [number, signal] of [
          [9, "SIGKILL"],
          [34, "SIGRTMIN"],
          [64, "SIGRTMIN+30"]
        ]) {
          const ended = yield* run(yield* guest as Effect.Effect<Guest, E>, shell(`kill -${number} $$`, { cwd }))
          expect(ended.exited).toMatchObject({ exitCode: null, signal })
        }
        expect((yield* processes.execute(freshKey(), shell("exit 0", { cwd }))).signal).toBe(null)
      }).pipe(Effect.scoped),
    timeoutMs
  )
}
