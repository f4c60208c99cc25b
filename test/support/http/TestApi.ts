/**
 * The whole service over a real socket, on simulated machines, with one account and its full-scope key; and clients
 * that send exactly what their caller gives.
 */
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { type IncomingHttpHeaders, request } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import type { Scope } from "../../../schemas/Access.ts"
import { Accounts } from "../../../src/account/Accounts.ts"
import { ApiKeys } from "../../../src/account/ApiKeys.ts"
import { Audit } from "../../../src/account/Audit.ts"
import { ApiServer } from "../../../src/api/http/ApiServer.ts"
import { protocolServer } from "../../../src/api/http/ProtocolServer.ts"
import { Atoll } from "../../../src/app/Atoll.ts"
import { ActorCluster } from "../../../src/engine/ActorCluster.ts"
import { simulatedRuntime } from "../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Runtime } from "../../../src/runtime/Runtime.ts"
import { TracedRuntime } from "../../../src/runtime/TracedRuntime.ts"
import { auditWrittenBy } from "../fleet/auditWritten.ts"
import { fleetEdge, overAFleetOr } from "../fleet/FleetEdge.ts"
import { TestDatabase } from "../TestDatabase.ts"
import { testSettings } from "../TestSettings.ts"

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body as JSON, null when it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any
}

export interface Ask {
  /** Text or bytes are sent unchanged, everything else as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Null: no Authorization header. */
  readonly key?: string | null
  /** The body's length is not declared. */
  readonly chunked?: boolean
}

export class TestApi extends Context.Service<
  TestApi,
  {
    readonly port: number
    /** Full scope. */
    readonly key: string
    readonly accountId: string
    readonly world: SimulatedWorld
    /** `path` as sent on the wire. */
    readonly send: (method: string, path: string, ask?: Ask) => Promise<Answer>
    /**
     * Writes this to a new connection and returns everything that comes back until it is closed, or `untilMs` passed.
     */
    readonly raw: (bytes: string | Buffer, untilMs?: number) => Promise<string>
    /** Another key, of another account if one is named. */
    readonly newKey: (scopes: ReadonlyArray<Scope>, account?: string) => Promise<{ secret: string; id: string }>
    readonly newWorkspace: (key?: string) => Promise<string>
    /** A running Sandbox. */
    readonly newSandbox: (workspaceId: string, key?: string) => Promise<string>
    /** Events of the audit log are written in groups: after this, those of all answers so far can be read. */
    readonly auditWritten: () => Promise<void>
    /** Of each process that has any, in Prometheus's text format. */
    readonly scrapes: () => Promise<ReadonlyArray<string>>
    /** Crashes a running Sandbox. */
    readonly crash: (sandboxId: string) => void
    /** The caller's address as the service sees it. */
    readonly sourceIp: string
    /** Like a second process: its own leases, the same database. */
    readonly second: { readonly port: number }
    /** Whether the hosts of a fleet are frozen. */
    readonly freezeHosts: (areFrozen: boolean) => void
  }
>()("atoll/test/TestApi") {
  static readonly layer = (environment: Readonly<Record<string, string>> = {}, addresses: ReadonlyArray<string> = []) =>
    TestApi.on(environment, addresses).pipe(Layer.provideMerge(TestDatabase.layer))

  /**
   * On a database of the caller's.
   * @param addresses Additional addresses of this machine, for a fleet's services.
   */
  static readonly on = (environment: Readonly<Record<string, string>> = {}, addresses: ReadonlyArray<string> = []) =>
    overAFleetOr(
      () => TestApi.#overAFleet(environment, addresses),
      () => TestApi.#inProcess(environment)
    )

  /** Real processes with real Sandboxes. */
  static readonly #overAFleet = (environment: Readonly<Record<string, string>>, addresses: ReadonlyArray<string>) => {
    const key = newKey()
    const api = Effect.gen(function* () {
      const edge = yield* fleetEdge({ environment, key, addresses })
      return yield* make({ ...edge, key, world: notHere, auditWritten: yield* auditWrittenBy(edge.origins) })
    })
    return Layer.effect(TestApi, api).pipe(
      Layer.provide(Layer.merge(Accounts.layer, ApiKeys.layer)),
      Layer.provide(testSettings(environment))
    )
  }

  static readonly #inProcess = (environment: Readonly<Record<string, string>>) => {
    const key = newKey()
    const http = () => NodeHttpServer.layer(protocolServer, { host: "127.0.0.1", port: 0, gracefulShutdownTimeout: 0 })
    return Layer.unwrap(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const world = yield* SimulatedWorld.make
        const settings = testSettings({ ATOLL_BOOTSTRAP_API_KEY: key, ATOLL_DATA_DIR: folder, ...environment })
        const service = Atoll.layer({ sweepIntervalMs: 200 }).pipe(
          Layer.provideMerge(TracedRuntime.layer.pipe(Layer.provide(Layer.succeed(Runtime, simulatedRuntime(world))))),
          Layer.provide(ActorCluster.layerSingle)
        )
        const another = Layer.effect(Second, Effect.map(HttpServer.HttpServer, portOf)).pipe(
          Layer.provide(Layer.fresh(ApiServer.layer)),
          Layer.provide(Layer.fresh(http()))
        )
        const api = Effect.gen(function* () {
          const audit = yield* Audit
          const { port } = portOf(yield* HttpServer.HttpServer)
          const second = yield* Second
          return yield* make({
            key,
            port,
            second,
            world,
            auditWritten: () => Effect.runPromise(audit.write),
            sourceIp: "127.0.0.1",
            crash: (sandboxId) => world.crash(sandboxId),
            freezeHosts: () => {
              throw new Error("There are no hosts.")
            },
            scrapes: async () => [(await sendTo(port, key)("GET", "/metrics", { key: null })).text]
          })
        })
        return Layer.effect(TestApi, api).pipe(
          Layer.provide(ApiServer.layer),
          Layer.provide(http()),
          Layer.provide(another),
          Layer.provide(service),
          Layer.provide(Layer.merge(Accounts.layer, ApiKeys.layer)),
          Layer.provide(settings)
        )
      })
    )
  }
}

const newKey = () => `atoll_live_${randomBytes(32).toString("hex").slice(0, 43)}`

class Second extends Context.Service<Second, { readonly port: number }>()("atoll/test/Second") {}

const portOf = (server: HttpServer.HttpServer["Service"]) => ({
  port: "port" in server.address ? server.address.port : 0
})

const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "atoll-api-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

export const bytesOf = (body: unknown): Buffer | null =>
  body === undefined
    ? null
    : Buffer.isBuffer(body)
      ? body
      : Buffer.from(typeof body === "string" ? body : JSON.stringify(body))

export const sendTo =
  (port: number, ownKey: string) =>
  (method: string, path: string, { body, headers = {}, key = ownKey, chunked = false }: Ask = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const bytes = bytesOf(body)
      const asked = request(
        {
          port,
          host: "127.0.0.1",
          method,
          path,
          agent: false,
          headers: {
            ...(key === null ? {} : { authorization: `Bearer ${key}` }),
            ...(bytes === null ? {} : { "content-type": "application/json" }),
            ...(bytes === null || chunked ? {} : { "content-length": bytes.byteLength }),
            ...headers
          }
        },
        (answer) => {
          const chunks: Array<Buffer> = []
          answer.on("data", (chunk: Buffer) => chunks.push(chunk))
          answer.on("error", reject)
          answer.on("end", () => {
            const text = Buffer.concat(chunks).toString()
            const isJson = answer.headers["content-type"]?.startsWith("application/json") ?? false
            resolve({
              status: answer.statusCode!,
              headers: answer.headers,
              text,
              json: isJson && text !== "" ? JSON.parse(text) : null
            })
          })
        }
      ).on("error", reject)
      if (bytes !== null && chunked) asked.write(bytes)
      asked.end(chunked ? undefined : (bytes ?? undefined))
    })

const rawTo =
  (port: number) =>
  (bytes: string | Buffer, untilMs = 5000): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1")
      const chunks: Array<Buffer> = []
      const timer = setTimeout(() => socket.destroy(), untilMs)
      socket.on("connect", () => socket.write(bytes))
      socket.on("data", (chunk) => chunks.push(chunk))
      socket.on("error", () => {})
      socket.on("close", () => {
        clearTimeout(timer)
        resolve(Buffer.concat(chunks).toString())
      })
    })

/** Suites that use the machines directly, or hold them up, have them in their own process. */
const notHere = new Proxy({} as SimulatedWorld, {
  get: (_, name) => {
    throw new Error(`The machines of a fleet are not in this process: ${String(name)}`)
  }
})

const make = ({
  key,
  port,
  second,
  world,
  auditWritten,
  sourceIp,
  crash,
  freezeHosts,
  scrapes
}: Omit<TestApi["Service"], "accountId" | "send" | "raw" | "newKey" | "newWorkspace" | "newSandbox">) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const keys = yield* ApiKeys
    const send = sendTo(port, key)
    const [account] = yield* accounts.list
    const newWorkspace = async (own = key) =>
      (
        await send("POST", "/api/v2/workspaces", {
          key: own,
          body: { name: "test" },
          headers: { "idempotency-key": randomBytes(8).toString("hex") }
        })
      ).json.workspace.id as string
    return TestApi.of({
      port,
      key,
      accountId: account!.id,
      world,
      send,
      raw: rawTo(port),
      second,
      auditWritten,
      sourceIp,
      crash,
      freezeHosts,
      scrapes,
      newKey: (scopes, name) =>
        Effect.runPromise(
          Effect.gen(function* () {
            const { id } = name === undefined ? account! : yield* accounts.named(name)
            const made = yield* keys.create({ accountId: id, name: "test", scopes })
            return { secret: made.secret, id: made.key.id }
          })
        ),
      newWorkspace,
      newSandbox: async (workspaceId, own = key) => {
        const created = await send("POST", "/api/v2/sandboxes", {
          key: own,
          body: { workspaceId },
          headers: { "idempotency-key": randomBytes(8).toString("hex") }
        })
        const id: string = created.json.sandbox.id
        await send("POST", `/api/v2/sandboxes/${id}/start`, { key: own })
        for (;;) {
          const { sandbox } = (await send("GET", `/api/v2/sandboxes/${id}`, { key: own })).json
          if (sandbox.status === "running") return id
          if (sandbox.status !== "pending") throw new Error(`The Sandbox is ${sandbox.status}`)
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
      }
    })
  })
