import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import type { Guest } from "../../runtime/Guest.ts"
import type { RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { unavailable } from "./attempt.ts"

/** A command that does nothing; the benchmarks measure starts by it. */
export const runTrue = (guest: Guest) =>
  guest.processes.execute(randomUUID(), {
    argv: ["true"],
    cwd: "/workspace",
    env: {},
    stdin: null,
    timeoutMs: null,
    output: { mode: "head", bytes: 1024 }
  })

/** Runs commands that do nothing, on the code paths of a customer's first commands. */
export const warm = (guest: Guest, runs: number): Effect.Effect<void, RuntimeUnavailable> =>
  Effect.forEach(Array.from({ length: runs }), () => runTrue(guest), { discard: true }).pipe(
    Effect.mapError(({ message }) => unavailable(message))
  )
