/** `atoll down [--purge [--yes]]` */
import { existsSync } from "node:fs"
import { createInterface } from "node:readline/promises"
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { Settings } from "../Config.ts"
import { answer, Refused, remark, WrongUsage } from "./answer.ts"

const count = (number: number, one: string, many: string): string => `${number} ${number === 1 ? one : many}`

/** Asks on the terminal; where there is none, `--yes` is the answer or there is none. */
const confirmed = Effect.fnUntraced(function* (dataDir: string) {
  if (!process.stdin.isTTY) {
    return yield* new WrongUsage({
      message: `--purge removes ${dataDir} for good: say --yes as well, for nobody can be asked here.`
    })
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const said = yield* Effect.promise(() =>
    terminal.question(`This removes ${dataDir} for good: its database, and the files of every Sandbox. Type yes: `)
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
    // All of the service, which no other command needs.
    const { takeDown } = yield* Effect.promise(() => import("../Down.ts"))
    const { processes, sandboxes, left } = yield* takeDown(purge)
    if (role === "host" && sandboxes > 0)
      yield* remark("the services of this host's fleet learn of it when it joins them again, or is lost")
    if (purge && role === "all" && databaseUrl !== null)
      yield* remark("the database of DATABASE_URL is not removed; its Sandboxes are deleted")
    if (left.length > 0) yield* remark(`${dataDir} has things that are not Atoll's, which stay: ${left.join(", ")}`)
    const stopped = `${count(processes, "process", "processes")} of Atoll and ${count(sandboxes, "Sandbox", "Sandboxes")} stopped`
    const prose = !isThere
      ? `Nothing was ever started in ${dataDir}.`
      : role === "service"
        ? `${count(processes, "process", "processes")} of the service stopped; its hosts and their Sandboxes go on.`
        : purge
          ? `${stopped}, ${dataDir} removed.`
          : `${stopped}; the data stays in ${dataDir}.`
    yield* answer(prose, { processes, sandboxes, dataDir, isPurged: purge })
  })
).pipe(Command.withDescription("Stop Atoll and every Sandbox that it left running; with --purge remove all data"))
