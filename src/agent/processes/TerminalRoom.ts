/**
 * Allocates pseudo-terminals. A namespace has 64 of them (`max` of its `devpts`), and any program in it may hold some. A terminal is free again only
 * when the last process that has it open is gone, which may be after its client has disconnected.
 *
 * So the kernel decides. While it has no free terminal, commands wait in order of arrival, for longer than it takes to end an abandoned terminal;
 * then they are refused.
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

/** Opens `count` terminals and closes them again. Any other failure is reported by the program that makes the terminal. */
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
  /** Commands that are starting and may have no terminal yet. */
  private beginning = 0
  private line: Promise<void> = Promise.resolve()

  /**
   * Starts a command once a terminal is free, and returns it once it has the terminal. Throws a Refusal when none becomes free in time.
   *
   * @param isLeft Whether the client has gone; then null is returned.
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
