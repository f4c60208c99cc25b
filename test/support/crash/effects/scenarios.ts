/** What clients ask for, in the order in which they ask, and what the world does meanwhile. */
import type { SimulatedMachine, SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"

/** When a run begins. */
export const epochMs = 1_700_000_000_000

/** The ids in the answers so far, by the names of their requests. */
export type Ids = ReadonlyMap<string, string>

export interface AskStep {
  readonly type: "ask"
  /** Unique in its scenario. */
  readonly name: string
  readonly method: "POST" | "PATCH" | "DELETE" | "GET" | "PUT"
  /** `{name}` stands for the id in the answer to that request. */
  readonly path: string
  readonly body?: unknown
  /** Its Idempotency-Key; null: none. */
  readonly key: string | null
  /** A later repetition with the key must give the same answer. */
  readonly isRepeated: boolean
  /** What a client without an answer asks when a repetition is refused (409), as what it wanted is there. */
  readonly otherwise?: AskStep
}

export type ScenarioStep =
  | AskStep
  | { readonly type: "pass"; readonly name: string; readonly ms: number }
  | { readonly type: "world"; readonly name: string; readonly happen: (at: WorldAt) => void }

export interface WorldAt {
  readonly world: SimulatedWorld
  readonly ids: Ids
  readonly nowMs: number
}

export interface Scenario {
  readonly name: string
  readonly steps: ReadonlyArray<ScenarioStep>
}

const asked =
  (method: AskStep["method"], isRepeated: boolean) =>
  (name: string, path: string, body?: unknown): AskStep => ({
    type: "ask",
    name,
    method,
    path,
    isRepeated,
    key: isRepeated ? `key of ${name}` : null,
    ...(body === undefined ? {} : { body })
  })

/** With an Idempotency-Key. */
const make = asked("POST", true)
const post = asked("POST", false)
const patch = asked("PATCH", false)
const remove = asked("DELETE", false)
const read = asked("GET", false)

const pass = (ms: number): ScenarioStep => ({ type: "pass", name: `${ms} ms`, ms })
const happen = (name: string, does: (at: WorldAt) => void): ScenarioStep => ({ type: "world", name, happen: does })

const workspace = make("workspace", "/workspaces", { name: "one" })
const create = (fields: Readonly<Record<string, unknown>> = {}) =>
  make("create", "/sandboxes?wait=running", {
    workspaceId: "{workspace}",
    name: "box",
    networkEnabled: false,
    ...fields
  })
const running = [workspace, create()]
const argv = (...words: ReadonlyArray<string>) => ({ argv: words })

/** There is no key: a port has at most one open preview, which can be looked up. */
const open = (name: string, port: number): ReadonlyArray<AskStep> => [
  {
    ...post(name, "/sandboxes/{create}/previews", { port }),
    otherwise: post(`${name} found`, "/sandboxes/{create}/previews/lookup", { port })
  }
]

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

/** The key of an access is its id. */
const accessIds = ["7f1c2d90-5b0e-4b7a-9d35-2f6f0c1e8a44", "7f1c2d90-5b0e-4b7a-9d35-2f6f0c1e8a45"] as const
const ports = { requested_at: new Date(epochMs).toISOString(), ports: [3000] }

export const scenarios: ReadonlyArray<Scenario> = [
  { name: "create", steps: [workspace, create({ metadata: { a: "1" }, env: { A: "1" } })] },
  {
    name: "stop and start",
    steps: [
      ...running,
      post("stop", "/sandboxes/{create}/stop"),
      make("start", "/sandboxes/{create}/start?wait=running", {})
    ]
  },
  { name: "delete", steps: [...running, remove("delete", "/sandboxes/{create}"), pass(2000)] },
  {
    name: "change",
    steps: [
      ...running,
      patch("labels", "/sandboxes/{create}", { metadata: { team: "blue" }, env: { A: "1" } }),
      patch("lifetime", "/sandboxes/{create}", { lifetime: { stopAfterSeconds: 4 } }),
      pass(5000)
    ]
  },
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
    name: "preview",
    steps: [
      workspace,
      create({ networkEnabled: true }),
      ...open("preview", 3000),
      remove("close", "/sandboxes/{create}/previews/{preview}"),
      ...open("another", 3001),
      post("stop", "/sandboxes/{create}/stop")
    ]
  },
  {
    name: "sleep and wake",
    steps: [
      ...running,
      pass(40_000),
      make("echo", "/sandboxes/{create}/operations", argv("echo", "words")),
      post("wait", "/sandboxes/{create}/operations/{echo}/wait", { timeoutSeconds: 5 })
    ]
  },
  {
    name: "end of a machine",
    steps: [
      ...running,
      make("hang", "/sandboxes/{create}/operations", argv("hang")),
      happen("the machine ends", ({ world, ids }) => world.crash(ids.get("create")!)),
      pass(6000),
      read("get", "/sandboxes/{create}")
    ]
  },
  {
    name: "execute",
    steps: [...running, post("execute", "/sandboxes/{create}/execute", argv("echo", "words"))]
  },
  {
    name: "lifetime",
    steps: [
      workspace,
      create({ lifetime: { stopAfterSeconds: 15, deleteAfterStoppedSeconds: 5 } }),
      make("hang", "/sandboxes/{create}/operations", argv("hang")),
      pass(25_000)
    ]
  },
  {
    name: "service access",
    steps: [
      ...running,
      { ...make("access", "/sandboxes/{create}/services", ports), key: accessIds[0] },
      // What is over is not there: 404.
      { ...post("brief", "/sandboxes/{create}/services", ports), key: accessIds[1] },
      remove("revoke", `/sandboxes/{create}/services/${accessIds[1]}`)
    ]
  },
  {
    name: "workspace",
    steps: [
      workspace,
      patch("rename", "/workspaces/{workspace}", { name: "two" }),
      remove("delete", "/workspaces/{workspace}")
    ]
  }
]
