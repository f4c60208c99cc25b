/** The whole service as main.ts composes it, on its own listener, over a runtime of the test's choice. */
import { randomBytes } from "node:crypto"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import type { Scope } from "../../schemas/Access.ts"
import { Accounts } from "../../src/account/Accounts.ts"
import { newSecret } from "../../src/account/ApiKeySecret.ts"
import { ApiKeys } from "../../src/account/ApiKeys.ts"
import { Audit } from "../../src/account/Audit.ts"
import { ApiServer } from "../../src/api/http/ApiServer.ts"
import { Listener } from "../../src/api/http/Listener.ts"
import { Atoll } from "../../src/app/Atoll.ts"
import type { Settings } from "../../src/Config.ts"
import { SignInLinks } from "../../src/console/server/SignInLinks.ts"
import { ActorCluster } from "../../src/engine/ActorCluster.ts"
import { ActorHost } from "../../src/engine/ActorHost.ts"
import type { Runtime } from "../../src/runtime/Runtime.ts"
import { auditWrittenBy } from "./fleet/auditWritten.ts"
import { fleetEdge, overAFleetOr } from "./fleet/FleetEdge.ts"
import { type Answer, type Ask, sendTo } from "./http/TestApi.ts"
import { testSettings } from "./TestSettings.ts"

const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync(join(tmpdir(), "atoll-served-"))
    chmodSync(folder, 0o755)
    return folder
  }),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

export class ServedAtoll extends Context.Service<
  ServedAtoll,
  {
    readonly port: number
    /** The listener of the one service, or of each service of a fleet; by IPv6 where it was configured. */
    readonly listeners: ReadonlyArray<{ readonly host: string; readonly host6: string; readonly port: number }>
    /** Full scope. */
    readonly key: string
    readonly accountId: string
    readonly send: (method: string, path: string, ask?: Ask) => Promise<Answer>
    /** Another key, of another account if one is named. */
    readonly newKey: (scopes: ReadonlyArray<Scope>, account?: string) => Promise<{ secret: string; id: string }>
    /** A running Sandbox in a new workspace; without network by default. */
    readonly newSandbox: (key?: string, options?: { readonly networkEnabled: boolean }) => Promise<string>
    /** A code that signs in to the account. */
    readonly newLink: () => Promise<string>
    readonly auditWritten: () => Promise<void>
    /** The memory of the processes of services and hosts, in bytes. */
    readonly residentBytes: () => number
    /** Of each process that has any, in Prometheus's text format. */
    readonly scrapes: () => Promise<ReadonlyArray<string>>
    /** The caller's address as the service sees it. */
    readonly sourceIp: string
    /** Null: its actors are not in this process. */
    readonly actors: ActorHost["Service"] | null
  }
>()("atoll/test/ServedAtoll") {
  /**
   * On the database of the surroundings. The runtime keeps its Sandboxes.
   * @param addresses Additional addresses of this machine, for a fleet's services.
   */
  static readonly layer = <E, R>(
    runtime: Layer.Layer<Runtime, E, Settings | R>,
    environment: Readonly<Record<string, string>> = {},
    addresses: ReadonlyArray<string> = []
  ) =>
    overAFleetOr(
      () => ServedAtoll.#overAFleet(environment, addresses),
      () => ServedAtoll.#inProcess(runtime, environment)
    )

  static readonly #overAFleet = (environment: Readonly<Record<string, string>>, addresses: ReadonlyArray<string>) => {
    const key = newSecret()
    const served = Effect.gen(function* () {
      const edge = yield* fleetEdge({ environment, key, addresses })
      return yield* make({ ...edge, key, auditWritten: yield* auditWrittenBy(edge.origins), actors: null })
    })
    return Layer.effect(ServedAtoll, served).pipe(
      Layer.provide(Layer.mergeAll(Accounts.layer, ApiKeys.layer, SignInLinks.layer)),
      Layer.provide(testSettings(environment))
    )
  }

  static readonly #inProcess = <E, R>(
    runtime: Layer.Layer<Runtime, E, Settings | R>,
    environment: Readonly<Record<string, string>>
  ) => {
    const key = newSecret()
    return Layer.unwrap(
      Effect.map(temporaryFolder, (folder) => {
        const settings = testSettings({
          ATOLL_PORT: "0",
          ATOLL_BOOTSTRAP_API_KEY: key,
          ATOLL_DATA_DIR: folder,
          ...environment
        })
        const service = Atoll.layer({ sweepIntervalMs: 200 }).pipe(
          Layer.provideMerge(runtime),
          Layer.provide(ActorCluster.layerSingle)
        )
        const served = Effect.gen(function* () {
          const server = yield* HttpServer.HttpServer
          const audit = yield* Audit
          const port = "port" in server.address ? server.address.port : 0
          return yield* make({
            key,
            port,
            listeners: [{ host: "127.0.0.1", host6: "::1", port }],
            auditWritten: () => Effect.runPromise(audit.write),
            residentBytes: () => process.memoryUsage.rss(),
            scrapes: async () => [(await sendTo(port, key)("GET", "/metrics", { key: null })).text],
            sourceIp: "127.0.0.1",
            actors: yield* ActorHost
          })
        })
        return Layer.effect(ServedAtoll, served).pipe(
          Layer.provide(ApiServer.layer),
          Layer.provide(Listener.layer),
          Layer.provide(Layer.mergeAll(Accounts.layer, ApiKeys.layer, SignInLinks.layer)),
          Layer.provide(service),
          Layer.provide(settings)
        )
      })
    )
  }
}

const make = ({
  key,
  port,
  listeners,
  auditWritten,
  residentBytes,
  scrapes,
  sourceIp,
  actors
}: Omit<ServedAtoll["Service"], "accountId" | "send" | "newKey" | "newSandbox" | "newLink">) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const keys = yield* ApiKeys
    const links = yield* SignInLinks
    const [account] = yield* accounts.list
    const accountId = account!.id
    const send = sendTo(port, key)
    const workspaces = new Map<string, string>()
    const once = () => ({ "idempotency-key": randomBytes(8).toString("hex") })
    return ServedAtoll.of({
      port,
      listeners,
      key,
      accountId,
      send,
      newKey: (scopes, name) =>
        Effect.runPromise(
          Effect.gen(function* () {
            const { id } = name === undefined ? account! : yield* accounts.named(name)
            const made = yield* keys.create({ accountId: id, name: "test", scopes })
            return { secret: made.secret, id: made.key.id }
          })
        ),
      newSandbox: async (own = key, { networkEnabled } = { networkEnabled: false }) => {
        if (!workspaces.has(own)) {
          const made = await send("POST", "/api/v2/workspaces", { key: own, body: { name: "test" }, headers: once() })
          workspaces.set(own, made.json.workspace.id)
        }
        const created = await send("POST", "/api/v2/sandboxes?wait=running", {
          key: own,
          body: { workspaceId: workspaces.get(own), networkEnabled },
          headers: once()
        })
        let { sandbox } = created.json
        // The wait lasted as long as a create waits.
        while (sandbox?.status === "pending") {
          await new Promise((resolve) => setTimeout(resolve, 50))
          sandbox = (await send("GET", `/api/v2/sandboxes/${sandbox.id}`, { key: own })).json.sandbox
        }
        if (sandbox?.status !== "running") throw new Error(`The Sandbox is ${sandbox?.status}: ${created.text}`)
        return sandbox.id
      },
      newLink: () => Effect.runPromise(Effect.map(links.create(accountId), ({ code }) => code)),
      auditWritten,
      residentBytes,
      scrapes,
      sourceIp,
      actors
    })
  })
