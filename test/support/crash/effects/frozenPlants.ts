/** Faults of a service that was frozen, and of a fleet's, which a sweep must find. */
import { Effect } from "effect"
import { journal, type Plant } from "./plants.ts"

/** A commit takes an actor at any revision: an owner that lost it is not fenced. */
export const noFence: Plant = {
  database: journal((unsafe, text, parameters) =>
    unsafe(
      text
        .replace("set revision = i.revision", "set revision = a.revision + 1")
        .replaceAll("a.revision = i.expected", "true")
        .replace("returning a.id", "returning a.id, a.revision")
        .replace("select i.id, i.revision, i.at", "select i.id, u.revision, i.at"),
      parameters
    )
  )
}

/** A stop ends a machine of any generation. */
export const stopsAny: Plant = {
  runtime: (runtime) => ({ ...runtime, stop: (sandboxId) => runtime.stop(sandboxId, Number.MAX_SAFE_INTEGER) })
}

interface Stored {
  readonly kind: string
  readonly pending: ReadonlyArray<{ readonly type: string }>
}

/** The next service takes a host for drained whose Sandboxes it has not stopped. */
export const drainForgotten: Plant = {
  database: journal((unsafe, text, parameters) =>
    /^select id, kind,.* deadlines,/.test(text)
      ? Effect.map(unsafe(text, parameters), (rows) =>
          (rows as ReadonlyArray<Stored>).map((row) =>
            row.kind === "host" ? { ...row, pending: row.pending.filter(({ type }) => type !== "drainSandboxes") } : row
          )
        )
      : unsafe(text, parameters)
  )
}
