/**
 * The whole service over HTTP, on a chosen runtime, with one account and one running Sandbox; and a client that sends
 * exactly what its caller gives.
 */
import { randomBytes } from "node:crypto"
import fs from "node:fs"
import { createServer, type IncomingHttpHeaders, request } from "node:http"
import os from "node:os"
import path from "node:path"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { newSecret } from "../../../src/account/ApiKeySecret.ts"
import { ApiServer } from "../../../src/api/http/ApiServer.ts"
import { Atoll } from "../../../src/app/Atoll.ts"
import type { Settings } from "../../../src/Config.ts"
import { ActorCluster } from "../../../src/engine/ActorCluster.ts"
import { simulatedRuntime } from "../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { makeAgentGuest } from "../../../src/runtime/agentClient/AgentGuest.ts"
import { Runtime } from "../../../src/runtime/Runtime.ts"
import { fleetEdge, overAFleetOr } from "../fleet/FleetEdge.ts"
import { TestDatabase } from "../TestDatabase.ts"
import { testSettings } from "../TestSettings.ts"
import { TestAgent } from "./TestAgent.ts"

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  /** The body as JSON, null when it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any
}

export interface Ask {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly key?: string
}

export class TestService extends Context.Service<
  TestService,
  {
    readonly port: number
    readonly key: string
    readonly sandboxId: string
    readonly workspaceId: string
    /**
     * `target` is the path and query as sent on the wire, below /api/v2. Bytes are sent as octet-stream, everything
     * else as JSON.
     */
    readonly send: (method: string, target: string, ask?: Ask) => Promise<Answer>
    /** A file call on the running Sandbox; `query` is encoded. */
    readonly files: (
      method: string,
      call: string,
      query: Readonly<Record<string, string>>,
      ask?: Ask
    ) => Promise<Answer>
    /** Creates another Sandbox and waits until it runs. */
    readonly newSandbox: () => Promise<string>
    /** In a fleet: the Sandbox's agent process on this machine. */
    readonly agentPid: () => number
    /** kill -9 of every host of a fleet. */
    readonly killHosts: () => Promise<void>
  }
>()("atoll/test/TestService") {
  static readonly layer = <E>(
    runtime: Layer.Layer<Runtime, E, Settings>,
    environment: Readonly<Record<string, string>> = {}
  ) =>
    overAFleetOr(
      () => TestService.#overAFleet(environment),
      () => TestService.#inProcess(runtime, environment)
    ).pipe(Layer.provideMerge(TestDatabase.layer))

  static readonly #overAFleet = (environment: Readonly<Record<string, string>>) => {
    const key = newSecret()
    const edge = fleetEdge({ environment, key })
    return Layer.effect(
      TestService,
      Effect.flatMap(edge, ({ port, ...processes }) => connect(port, key, processes))
    )
  }

  static readonly #inProcess = <E>(
    runtime: Layer.Layer<Runtime, E, Settings>,
    environment: Readonly<Record<string, string>>
  ) => {
    const key = newSecret()
    const http = NodeHttpServer.layer(() => createServer(), { host: "127.0.0.1", port: 0 })
    return Layer.unwrap(
      Effect.map(temporaryFolder, (folder) => {
        const settings = testSettings({ ATOLL_BOOTSTRAP_API_KEY: key, ATOLL_DATA_DIR: folder, ...environment })
        const service = Atoll.layer({ sweepIntervalMs: 200 }).pipe(
          Layer.provideMerge(runtime),
          Layer.provide(ActorCluster.layerSingle)
        )
        return Layer.effect(
          TestService,
          Effect.flatMap(HttpServer.HttpServer, ({ address }) =>
            connect("port" in address ? address.port : 0, key, ownProcess)
          )
        ).pipe(Layer.provide(ApiServer.layer), Layer.provide(http), Layer.provide(service), Layer.provide(settings))
      })
    )
  }
}

const folderIn = (parent: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = fs.mkdtempSync(path.join(parent, "atoll-service-"))
      fs.chmodSync(folder, 0o755)
      return folder
    }),
    (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
  )
const temporaryFolder = folderIn(os.tmpdir())

/** Sandboxes that are simulated, except for their files: those are one real agent's, the same for every Sandbox. */
export const agentRuntime = runtimeOfAgent(() => {})

/**
 * @param started Called with the agent.
 * @param parent Of its folder: where the test does not need the disk, memory is faster.
 */
export function runtimeOfAgent(started: (agent: TestAgent, base: string) => void, parent = os.tmpdir()) {
  return Layer.effect(
    Runtime,
    Effect.gen(function* () {
      const base = yield* folderIn(parent)
      fs.mkdirSync(path.join(base, "workspace"))
      const agent = yield* Effect.acquireRelease(
        Effect.promise(() => TestAgent.start(base)),
        (agent) => Effect.promise(() => agent.kill())
      )
      started(agent, base)
      const simulated = simulatedRuntime(yield* SimulatedWorld.make)
      return {
        ...simulated,
        guest: (sandboxId, generation) =>
          Effect.map(simulated.guest(sandboxId, generation), (guest) => ({
            ...guest,
            files: makeAgentGuest(agent.session).files
          }))
      }
    })
  )
}

interface Processes extends Pick<TestService["Service"], "killHosts"> {
  readonly agentOf: (sandboxId: string) => number
}

const noHosts = () => {
  throw new Error("There are no hosts.")
}

const ownProcess: Processes = {
  agentOf: noHosts,
  killHosts: noHosts
}

/** Every Sandbox is deleted at the end: real ones outlive the service. */
const connect = (port: number, key: string, processes: Processes) =>
  Effect.acquireRelease(
    Effect.promise(() => client(port, key, processes)),
    ({ send }) =>
      Effect.promise(async () => {
        const { sandboxes } = (await send("GET", "/sandboxes")).json
        for (const { id } of sandboxes) await send("DELETE", `/sandboxes/${id}`)
      })
  )

const client = async (
  port: number,
  key: string,
  { killHosts, agentOf }: Processes
): Promise<TestService["Service"]> => {
  const send = (method: string, target: string, { body, headers = {}, key: other }: Ask = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const bytes = body === undefined ? null : body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body))
      const type = body instanceof Uint8Array ? "application/octet-stream" : "application/json"
      const asked = request(
        {
          port,
          host: "127.0.0.1",
          method,
          path: `/api/v2${target}`,
          headers: {
            authorization: `Bearer ${other ?? key}`,
            ...(bytes === null ? {} : { "content-type": type, "content-length": bytes.byteLength }),
            ...headers
          }
        },
        (answer) => {
          const chunks: Array<Buffer> = []
          answer.on("data", (chunk: Buffer) => chunks.push(chunk))
          answer.on("error", reject)
          answer.on("end", () => {
            const whole = Buffer.concat(chunks)
            const isJson = answer.headers["content-type"]?.startsWith("application/json") ?? false
            resolve({
              status: answer.statusCode!,
              headers: answer.headers,
              bytes: whole,
              json: isJson && whole.byteLength > 0 ? JSON.parse(whole.toString()) : null
            })
          })
        }
      ).on("error", reject)
      asked.end(bytes ?? undefined)
    })
  const workspace = await send("POST", "/workspaces", {
    body: { name: "files" },
    headers: { "idempotency-key": "w" }
  })
  const workspaceId: string = workspace.json.workspace.id
  const newSandbox = async (): Promise<string> => {
    const created = await send("POST", "/sandboxes", {
      body: { workspaceId, networkEnabled: false },
      headers: { "idempotency-key": randomBytes(8).toString("hex") }
    })
    const id: string = created.json.sandbox.id
    for (;;) {
      const { sandbox } = (await send("GET", `/sandboxes/${id}`)).json
      if (sandbox.status === "running") return id
      if (sandbox.status !== "pending")
        throw new Error(`The Sandbox is ${sandbox.status}: ${JSON.stringify(sandbox.statusReason)}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const sandboxId = await newSandbox()
  return TestService.of({
    port,
    key,
    sandboxId,
    workspaceId,
    send,
    newSandbox,
    agentPid: () => agentOf(sandboxId),
    killHosts,
    files: (method, call, query, ask) =>
      send(method, `/sandboxes/${sandboxId}/files${call}?${new URLSearchParams(query)}`, ask)
  })
}
