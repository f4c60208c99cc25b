import { constants } from "node:os"
import { expect, it, vi } from "vitest"
import { signalPid } from "../../../src/agent/processes/ProcessTree.ts"
import { posixSignal, signalName } from "../../../src/agent/processes/signals.ts"

it("every signal has one name, POSIX's where there are two", () => {
  const names = Array.from({ length: 64 }, (_, index) => signalName(index + 1))
  expect(new Set(names).size).toBe(64)
  expect([6, 29, 17, 31].map(signalName)).toEqual(["SIGABRT", "SIGPOLL", "SIGCHLD", "SIGSYS"])
  expect([32, 34, 40, 64].map(signalName)).toEqual(["SIG32", "SIGRTMIN", "SIGRTMIN+6", "SIGRTMIN+30"])
  for (const [name, number] of Object.entries(constants.signals)) expect(posixSignal(name)).toBe(signalName(number))
})

it("the pid that the kernel says of a process that is gone is no process, and not the agent's group", () => {
  const kill = vi.spyOn(process, "kill").mockReturnValue(true)
  try {
    expect([0, -1].map((pid) => signalPid(pid, "SIGTERM"))).toEqual([false, false])
    expect(kill).not.toHaveBeenCalled()
    expect(signalPid(process.pid, "SIGTERM")).toBe(true)
  } finally {
    kill.mockRestore()
  }
})
