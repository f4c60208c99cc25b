/** Commands in a Sandbox. */
import type { SimulatedMachine } from "../../../../../src/host/simulated/SimulatedWorld.ts"
import type { Scenario, WorldAt } from "./Scenario.ts"
import { argv, happen, make, pass, post, read, remove, running } from "./steps.ts"

const machineOf = ({ world, ids }: WorldAt): SimulatedMachine | undefined => world.machines.get(ids.get("create")!)

const processOf = (at: WorldAt, operation: string) => machineOf(at)?.processes.get(at.ids.get(operation)!)

const bytesOf = (count: number, from: number) => Uint8Array.from({ length: count }, (_, i) => 97 + ((from + i) % 26))

const writes = (operation: string, count: number) =>
  happen(`${operation} writes ${count} bytes`, (at) => {
    const process = processOf(at, operation)
    process?.write("stdout", bytesOf(count, process.offsets.stdout))
  })

const ends = (operation: string, exitCode: number) =>
  happen(`${operation} exits ${exitCode}`, (at) => processOf(at, operation)?.end({ exitCode, signal: null }, at.nowMs))

export const operationScenarios: ReadonlyArray<Scenario> = [
  {
    name: "operation",
    steps: [
      ...running,
      make("hang", "/sandboxes/{create}/operations", argv("hang")),
      writes("hang", 40),
      writes("hang", 60),
      ends("hang", 3),
      post("wait", "/sandboxes/{create}/operations/{hang}/wait", { timeoutSeconds: 5 })
    ]
  },
  {
    name: "cancel",
    steps: [
      ...running,
      make("hang", "/sandboxes/{create}/operations", argv("hang")),
      writes("hang", 40),
      post("cancel", "/sandboxes/{create}/operations/{hang}/cancel")
    ]
  },
  {
    name: "time-out",
    steps: [
      ...running,
      make("hang", "/sandboxes/{create}/operations", { ...argv("hang"), timeoutSeconds: 2 }),
      pass(3000)
    ]
  },
  {
    name: "execute",
    steps: [...running, post("execute", "/sandboxes/{create}/execute", argv("echo", "words"))]
  },
  {
    name: "end of a process",
    steps: [
      ...running,
      make("hang", "/sandboxes/{create}/operations", argv("hang")),
      // It is queued until the next service owns it: only an operation that has begun has a process.
      post("look", "/sandboxes/{create}/operations/{hang}/wait", { timeoutSeconds: 5, stdoutOffset: 0 }),
      { ...read("process", "/sandboxes/{create}/processes"), holds: ({ json }) => json.processes.length === 1 },
      remove("end", "/sandboxes/{create}/processes/{process}"),
      post("wait", "/sandboxes/{create}/operations/{hang}/wait", { timeoutSeconds: 5 })
    ]
  }
]
