/**
 * Names of signals, as POSIX spells them.
 *
 * Several numbers have two names on Linux, and Node's table lists both in no reliable order.
 *
 * @source POSIX.1-2024 <signal.h>; signal(7)
 */
import { constants } from "node:os"

/** Linux's other names, mapped to POSIX's. (`SIGIOT` is 4.2BSD's, `SIGIO` 4.2BSD's, `SIGCLD` System V's, `SIGUNUSED` an old spelling.) */
const aliases: Readonly<Record<string, string>> = {
  SIGIOT: "SIGABRT",
  SIGIO: "SIGPOLL",
  SIGCLD: "SIGCHLD",
  SIGUNUSED: "SIGSYS"
}

/** The first real-time signal that a program can use: the C library reserves two. */
const FIRST_REAL_TIME = 34

/** One name per signal, for either of its names. */
export const posixSignal = (name: string): string => (Object.hasOwn(aliases, name) ? aliases[name]! : name)

const names = new Map(Object.entries(constants.signals).map(([name, number]) => [number, posixSignal(name)]))

/** `SIGTERM` of 15; real-time ones count from the first: `SIGRTMIN`, `SIGRTMIN+6`. The two before it have no name: `SIG32`. */
export const signalName = (number: number): string => {
  const name = names.get(number)
  if (name !== undefined) return name
  if (number < FIRST_REAL_TIME) return `SIG${number}`
  return number === FIRST_REAL_TIME ? "SIGRTMIN" : `SIGRTMIN+${number - FIRST_REAL_TIME}`
}
