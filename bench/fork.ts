/**
 * What it costs a process of 0, 100 and 300 MB to start `true`: by Node, which forks, and by the spawner, as a command and (as root) as a daemon. The event
 * loop stands still for the first figure; the last one is what writing its pages again costs afterwards, beside what it costs without a start.
 */
import { spawn } from "node:child_process"
import { hostCommand } from "../src/host/linux/hostCommand.ts"
import { signal } from "../src/host/linux/ProcessIdentity.ts"
import { startDaemon } from "../src/host/linux/startDaemon.ts"
import { quantile } from "./BenchService.ts"

const runs = Number(process.env["BENCH_RUNS"] ?? 30)
const MiB = 1024 ** 2
const pageBytes = 4096

const byNode = () =>
  new Promise<void>((resolve) => {
    spawn("true", [], { stdio: ["pipe", "pipe", "pipe"] }).once("close", () => resolve())
  })
const bySpawner = () => hostCommand(["true"])
const asDaemon = async () => {
  const sleep = {
    name: "sleep",
    argv: ["sleep", "60"],
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    inherits: {}
  } as const
  const daemon = await startDaemon(sleep)
  signal(daemon.process, "SIGKILL")
  await daemon.ended
}

// A daemon does not keep its process alive.
const waits = setInterval(() => {}, 60_000)
const held: Array<Buffer> = []
const touch = (): number => {
  const began = performance.now()
  for (const bytes of held) for (let at = 0; at < bytes.length; at += pageBytes) bytes[at] = (bytes[at]! + 1) & 255
  return performance.now() - began
}

const table = []
for (const megabytes of [0, 100, 300]) {
  while (held.length < megabytes) held.push(Buffer.alloc(MiB, 1))
  for (const [way, start] of [
    ["Node", byNode],
    ["the spawner", bySpawner],
    ["the spawner, daemon", asDaemon]
  ] as const) {
    const [stands, takes, touches]: [Array<number>, Array<number>, Array<number>] = [[], [], []]
    for (let run = 0; run < runs; run++) {
      const began = performance.now()
      const ended = start()
      stands.push(performance.now() - began)
      await ended
      takes.push(performance.now() - began)
      touches.push(touch())
    }
    const ms = (values: ReadonlyArray<number>) => Number(quantile(values, 0.5).toFixed(2))
    table.push({
      "process MB": megabytes,
      "started by": way,
      "stands still ms": ms(stands),
      "until its end ms": ms(takes),
      "pages again ms": ms(touches),
      "pages alone ms": Number(Math.min(touch(), touch(), touch()).toFixed(2))
    })
  }
}
clearInterval(waits)
console.table(table)
