/**
 * Signal names in SSH: those that RFC 4254 lists are used as they are, all others as `name@domain`, here `RTMIN+6@ATOLL`.
 *
 * ssh2 accepts only names from its table, which is the RFC's list, so these names are added there. ssh2 sends them in capitals.
 *
 * @source RFC 4254 section 6.10 (exit-signal), RFC 4251 section 6 (names)
 */
import { createRequire } from "node:module"
import { constants } from "node:os"
import type { ServerChannel } from "ssh2"

const { SIGNALS: known } = createRequire(import.meta.url)("ssh2/lib/protocol/constants.js") as {
  readonly SIGNALS: Record<string, 1>
}

const domain = "@ATOLL"
const listed: ReadonlySet<string> = new Set(Object.keys(known))

/** Linux's signals 32 to 64, with the agent's names. */
const realTime = ["32", "33", "RTMIN", ...Array.from({ length: 30 }, (_, at) => `RTMIN+${at + 1}`)]
const others = [...Object.keys(constants.signals).map((name) => name.replace(/^SIG/, "")), ...realTime]
for (const name of others) if (!listed.has(name)) known[`${name}${domain}`] = 1

/** `SIGTERM` of `TERM`, `SIGRTMIN+6` of `RTMIN+6@ATOLL`. */
export const signalOf = (name: string): string => `SIG${name.replace(/^SIG/, "").replace(/@.*$/, "")}`

/** An unknown signal name from a guest is reported as a failure without a name, with the exit code of `ssh` itself. */
const unnamedExitCode = 255

/** Sends the client the signal that ended its command (`SIGTERM` spelling). */
export const tellSignal = (channel: ServerChannel, signal: string): void => {
  const name = signal.replace(/^SIG/, "")
  const told = listed.has(name) ? name : `${name}${domain}`
  if (Object.hasOwn(known, told)) channel.exit(told, false, "")
  else channel.exit(unnamedExitCode)
}
