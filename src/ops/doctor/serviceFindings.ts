/** Checks what the service itself needs: a database that answers (except for a host of a fleet), and free ports. */
import { existsSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Settings, type SettingsShape } from "../../Config.ts"
import { Hosts } from "../../fleet/Hosts.ts"
import { Database } from "../../store/Database.ts"
import { type Finding, fine, limited, missing } from "./Finding.ts"
import { hostsFinding } from "./hostsFinding.ts"

/** As long as a person waits. */
const databaseWaitMs = 2_000
const clocksApartMaxMs = 1_000

/** The difference between the clock of an external database and this host's. */
const clockApart = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const asked = Date.now()
  const [row] = yield* sql<{
    readonly now: number
  }>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`
  return row!.now - (asked + Date.now()) / 2
})

const clockFinding = (name: string, apartMs: number): Finding =>
  Math.abs(apartMs) <= clocksApartMaxMs
    ? fine(name, "The database answers.")
    : limited(
        name,
        `The database answers, and its clock is ${Math.round(apartMs / 1000)} s from this host's.`,
        "timedatectl set-ntp true, on both hosts"
      )

const databaseFindings = (settings: SettingsShape): Effect.Effect<ReadonlyArray<Finding>> => {
  const name = "database"
  if (settings.databaseUrl === null && !existsSync(join(settings.dataDir, "postgres/data/PG_VERSION")))
    return Effect.succeed([fine(name, `The first start makes one in ${settings.dataDir}.`)])
  return Effect.gen(function* () {
    const clock = clockFinding(name, yield* clockApart)
    const hosts = settings.role === "service" ? yield* Effect.provide(hostsFinding, Hosts.layer) : null
    return hosts === null ? [clock] : [clock, hosts]
  }).pipe(
    Effect.provide(Database.layer),
    Effect.provide(Layer.succeed(Settings, { ...settings, databaseWaitMs })),
    Effect.catch((error) => Effect.succeed([missing(name, "The database does not serve.", error.message)]))
  )
}

/** Null when the port can be listened on. */
const whyClosed = (host: string, port: number): Promise<string | null> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  })

/** Whether an Atoll listens there. */
const isAtoll = (host: string, port: number): Promise<boolean> =>
  fetch(`http://${host.includes(":") ? `[${host}]` : host}:${port}/healthz`, { signal: AbortSignal.timeout(2000) })
    .then(
      async (answer) => "workers" in ((await answer.json()) as object),
      () => false
    )
    .catch(() => false)

const portFinding = async (setting: string, host: string, port: number): Promise<Finding> => {
  const name = `port ${port}`
  const reason = port === 0 ? null : await whyClosed(host, port)
  if (reason === null) return fine(name, `${setting} is free.`)
  if (setting === "ATOLL_PORT" && (await isAtoll(host, port))) return fine(name, "Atoll serves there.")
  return reason === "EADDRINUSE"
    ? limited(
        name,
        `${setting}: something listens on it, which may be Atoll itself.`,
        `ss -ltnp sport = :${port} says what; or set ${setting} to another one.`
      )
    : missing(
        name,
        `${setting} cannot be listened on at ${host} (${reason}).`,
        `Correct ${setting} or its host's setting.`
      )
}

export const serviceFindings = Effect.fnUntraced(function* (settings: SettingsShape) {
  const ports: ReadonlyArray<readonly [string, string, number]> = [
    ["ATOLL_PORT", settings.host, settings.port],
    ...(settings.role === "all" ? [] : [["ATOLL_FLEET_PORT", settings.fleetHost, settings.fleetPort] as const]),
    ...(settings.cooperative === "on" ? [["ATOLL_SSH_PORT", settings.sshHost, settings.sshPort] as const] : []),
    ...(settings.clusterPort === 0 ? [] : [["ATOLL_CLUSTER_PORT", settings.clusterHost, settings.clusterPort] as const])
  ]
  const free = yield* Effect.promise(() => Promise.all(ports.map((port) => portFinding(...port))))
  return [...(settings.role === "host" ? [] : yield* databaseFindings(settings)), ...free]
})
