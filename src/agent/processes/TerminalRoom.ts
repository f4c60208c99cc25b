/**
 * Room for pseudo-terminals. A namespace has 64 of them (its `devpts` says `max`), any program in it may hold some, and one is free again only when the
 * last process that has it open is gone, which may be after whoever was connected to it.
 *
 * So the kernel is asked. Where it has none to give, a command waits for one, in the order of arrival, for longer than a terminal that was left is
 * ended in; then it is refused.
 */
import { closeSync, constants, openSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { Refusal } from "../routes.ts"
import type { CommandProcess } from "./CommandProcess.ts"

const MULTIPLEXER = "/dev/ptmx"
const PATIENCE_MS = 4_000
const LOOK_MS = 20

const noRoom = () =>
  new Refusal(
    409,
    "TOO_MANY_PROCESSES",
    "The Sandbox has no room for another terminal. End something that runs in it, then try again."
  )

/** Opens so many and closes them. What else fails is told by the program that makes the terminal. */
const areFree = (count: number): boolean => {
  const held: Array<number> = []
  try {
    while (held.length < count) held.push(openSync(MULTIPLEXER, constants.O_RDWR | constants.O_NOCTTY))
    return true
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code !== "ENOSPC"
  } finally {
    for (const fd of held) closeSync(fd)
  }
}

export class TerminalRoom {
  /** Commands that are starting and may not have their terminal yet. */
  private beginning = 0
  private line: Promise<void> = Promise.resolve()

  /**
   * Starts a command on a terminal once there is one for it, and returns it once it has that. Throws a Refusal where there is none in time.
   *
   * @param isLeft Nobody waits for it any more: null is returned.
   */
  async begin(start: () => Promise<CommandProcess | null>, isLeft: () => boolean): Promise<CommandProcess | null> {
    const until = performance.now() + PATIENCE_MS
    const found = this.line.then(() => this.find(until, isLeft))
    this.line = found.then(
      () => {},
      () => {}
    )
    if (!(await found)) return null
    try {
      const command = await start()
      if (command !== null && !(await command.hasTerminal())) throw noRoom()
      return command
    } finally {
      this.beginning--
    }
  }

  private async find(until: number, isLeft: () => boolean): Promise<boolean> {
    while (!isLeft()) {
      if (areFree(this.beginning + 1)) {
        this.beginning++
        return true
      }
      if (performance.now() >= until) throw noRoom()
      await sleep(LOOK_MS)
    }
    return false
  }
}
