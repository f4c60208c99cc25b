import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import type { Guest } from "../../runtime/Guest.ts"
import type { RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { unavailable } from "./attempt.ts"

const runToEnd = (guest: Guest, argv: ReadonlyArray<string>) =>
  guest.processes.execute(randomUUID(), {
    argv,
    cwd: "/workspace",
    env: {},
    stdin: null,
    timeoutMs: null,
    output: { mode: "head", bytes: 1024 }
  })

/** A command that does nothing; the benchmarks measure starts by it. */
export const runTrue = (guest: Guest) => runToEnd(guest, ["true"])

/** Writes to both outputs. */
const runEcho = (guest: Guest) => runToEnd(guest, ["sh", "-c", "echo out; echo err >&2"])

/** Runs commands, on the code paths of a customer's first ones. */
export const warm = (guest: Guest, runs: number): Effect.Effect<void, RuntimeUnavailable> =>
  Effect.andThen(
    runEcho(guest),
    Effect.forEach(Array.from({ length: runs }), () => runTrue(guest), { discard: true })
  ).pipe(Effect.mapError(({ message }) => unavailable(message)))
