/** `atoll down [--purge [--yes]]` */
import { existsSync } from "node:fs"
import { createInterface } from "node:readline/promises"
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { Settings } from "../Config.ts"
import { Refused, WrongUsage } from "../console/server/operating/refusals.ts"
import { answer, remark } from "./answer.ts"

const count = (number: number, one: string, many: string): string => `${number} ${number === 1 ? one : many}`

/** Asks on the terminal; without a terminal, `--yes` is required. */
const confirmed = Effect.fnUntraced(function* (dataDir: string) {
  if (!process.stdin.isTTY) {
    return yield* new WrongUsage({
      message: `--purge permanently removes ${dataDir}: add --yes, because there is no terminal to ask on.`
    })
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const said = yield* Effect.promise(() =>
    terminal.question(`This permanently removes ${dataDir}: its database, and the files of every Sandbox. Type yes: `)
  ).pipe(Effect.ensuring(Effect.sync(() => terminal.close())))
  if (said.trim().toLowerCase() !== "yes") return yield* new Refused({ message: "Nothing was done." })
})

export const down = Command.make(
  "down",
  {
    purge: Flag.Boolean("purge").pipe(
      Flag.withDescription("Delete the Sandboxes and the data folder as well"),
      Flag.withDefault(false)
    ),
    yes: Flag.Boolean("yes").pipe(Flag.withDescription("Do not ask before --purge"), Flag.withDefault(false))
  },
  Effect.fnUntraced(function* ({ purge, yes }) {
    const { dataDir, databaseUrl, role } = yield* Settings
    const isThere = existsSync(dataDir)
    if (purge && isThere && !yes) yield* confirmed(dataDir)
    // Loads the whole service, which no other command needs.
    const { takeDown } = yield* Effect.promise(() => import("../app/Down.ts"))
    const { processes, sandboxes, left } = yield* takeDown(purge)
    if (role === "host" && sandboxes > 0)
      yield* remark("the services of this host's fleet notice it when the host joins again, or is lost")
    if (purge && role === "all" && databaseUrl !== null)
      yield* remark("the database of DATABASE_URL is not removed; its Sandboxes are deleted")
    if (left.length > 0) yield* remark(`${dataDir} contains other files, which are kept: ${left.join(", ")}`)
    const stopped = `${count(processes, "process", "processes")} of Atoll and ${count(sandboxes, "Sandbox", "Sandboxes")} stopped`
    const prose = !isThere
      ? `Nothing was ever started in ${dataDir}.`
      : role === "service"
        ? `${count(processes, "process", "processes")} of the service stopped; its hosts and their Sandboxes continue.`
        : purge
          ? `${stopped}, ${dataDir} removed.`
          : `${stopped}; the data is kept in ${dataDir}.`
    yield* answer(prose, { processes, sandboxes, dataDir, isPurged: purge })
  })
).pipe(Command.withDescription("Stop Atoll and every Sandbox that still runs; with --purge remove all data"))
