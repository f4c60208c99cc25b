/** How a command in a Sandbox ended, as the exit code of a command here. */
import { constants } from "node:os"
import type { Operation } from "../../generated/schemas.ts"
import { exitCodes } from "../failure.ts"

/** Of Linux, where the Sandboxes run. */
const firstRealTime = 34

/** @param name `SIGTERM`, `SIGRTMIN+3`. Null: it is none that is known. */
export const signalNumber = (name: string): number | null => {
  const realTime = /^SIGRTMIN(?:\+(\d+))?$/.exec(name)
  if (realTime !== null) return firstRealTime + Number(realTime[1] ?? 0)
  return (constants.signals as Readonly<Record<string, number>>)[name] ?? null
}

export interface Ended {
  readonly exitCode: number
  /** What is to be said of it; null: its exit code says it all. */
  readonly said: string | null
}

export const endOf = ({ status, exitCode, signal, reason }: Operation): Ended => {
  if (status === "completed") {
    const code = exitCode ?? (signal === null ? null : 128 + (signalNumber(signal) ?? 0))
    return { exitCode: code ?? exitCodes.notRun, said: reason === null ? null : reason.message }
  }
  if (reason?.code === "TIMED_OUT") return { exitCode: exitCodes.timedOut, said: reason.message }
  return {
    exitCode: exitCodes.notRun,
    said: status === "cancelled" ? "The command was cancelled." : (reason?.message ?? `The command is ${status}.`)
  }
}
