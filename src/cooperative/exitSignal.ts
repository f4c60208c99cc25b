/**
 * The names of signals as SSH has them: those that RFC 4254 lists by themselves, all others as `name@domain`, here `RTMIN+6@ATOLL`.
 *
 * ssh2 takes no name that is not in its table, which is the RFC's list, so ours are put there. It sends them in capitals.
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

/** Linux's numbers 32 to 64, as the agent tells them. */
const realTime = ["32", "33", "RTMIN", ...Array.from({ length: 30 }, (_, at) => `RTMIN+${at + 1}`)]
const others = [...Object.keys(constants.signals).map((name) => name.replace(/^SIG/, "")), ...realTime]
for (const name of others) if (!listed.has(name)) known[`${name}${domain}`] = 1

/** `SIGTERM` of `TERM`, `SIGRTMIN+6` of `RTMIN+6@ATOLL`. */
export const signalOf = (name: string): string => `SIG${name.replace(/^SIG/, "").replace(/@.*$/, "")}`

/** What a guest calls a signal and nobody else does is told as a failure without a name: as `ssh` itself exits. */
const unnamedExitCode = 255

/** Tells the client by which signal its command ended: `SIGTERM` spelling. */
export const tellSignal = (channel: ServerChannel, signal: string): void => {
  const name = signal.replace(/^SIG/, "")
  const told = listed.has(name) ? name : `${name}${domain}`
  if (Object.hasOwn(known, told)) channel.exit(told, false, "")
  else channel.exit(unnamedExitCode)
}
