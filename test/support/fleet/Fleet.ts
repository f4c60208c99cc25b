/**
 * A whole fleet of real processes: services and hosts, each in a separate network namespace with a separate data
 * folder, and the database at an address of that network. Its end leaves nothing on this machine, in any state of the
 * fleet.
 */
import { once } from "node:events"
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { newSecret } from "../../../src/account/ApiKeySecret.ts"
import { DatabaseServer } from "../../../src/store/DatabaseServer.ts"
import { ServiceProcess } from "../crash/ServiceProcess.ts"
import { Program } from "../Program.ts"
import { untilFound } from "../until.ts"
import { HostProcess, main } from "./HostProcess.ts"
import { clear, clearAbandoned, folderPrefix, remainsOf } from "./leftovers.ts"
import { Net } from "./Net.ts"

const databasePort = 5432
const apiPort = 8080
export const fleetPort = 7070
export const actorsPort = 7071
const readyWithinMs = 120_000
/** Machines boot under emulation here, and first make the template of the others. */
const machinesReadyWithinMs = 300_000
const linesShown = 30
const charactersShown = 400
const collapseShown = 6000
const goneWithinMs = 30_000

export interface FleetShape {
  readonly services: number
  readonly hosts: number
  readonly driver: "namespace" | "simulated" | "qemu"
  /** For every process, beside the settings of every fleet. */
  readonly environment: Readonly<Record<string, string>>
  /** The program of every process; a different one belongs to another version. */
  readonly source: string
  /** Of each service's API, at its own address. */
  readonly port: number
  /** Of full scope, for the first account. */
  readonly key: string
  /** Addresses of the test, beside the one that it has in the network (`Net.lodge`). */
  readonly addresses: ReadonlyArray<string>
}

/** The server's socket, and the other parts of a DATABASE_URL. */
const socketOf = ({
  path,
  url,
  username = "postgres",
  database = "postgres"
}: DatabaseServer["Service"]["connect"]) => {
  if (path !== undefined) return { path, user: username, database }
  const { searchParams, pathname, username: user } = new URL(Redacted.value(url!))
  return { path: join(searchParams.get("host")!, `.s.PGSQL.${databasePort}`), user, database: pathname.slice(1) }
}

const answers = async (port: number, host: string): Promise<boolean> => {
  const socket = connect(port, host)
  try {
    await once(socket, "connect")
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

export class Fleet {
  /** Members are `service-0`, `host-0`, …, and `database`. */
  readonly net: Net
  readonly services: ReadonlyArray<ServiceProcess>
  readonly hosts: ReadonlyArray<HostProcess>
  readonly folder: string
  /** The whole fleet's. */
  readonly secretFile: string
  /** Each member has a separate file, by its name. */
  readonly #secretFiles: ReadonlyMap<string, string>
  /** The number of hosts that take new Sandboxes now. */
  readonly #ready: () => Promise<number>
  readonly #readyWithinMs: number
  readonly #relay = new Program()

  /** On the database of the surroundings, which is migrated. Everything is up and every host is ready. */
  static readonly make = (shape: Partial<FleetShape> = {}) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { connect } = yield* DatabaseServer
      const ready = Effect.map(
        sql<{ readonly id: string }>`select id from actors where kind = 'host' and status = 'ready'`,
        ({ length }) => length
      )
      yield* Effect.sync(clearAbandoned)
      const net = yield* Effect.acquireRelease(
        Effect.promise(() => Net.make()),
        (net) => Effect.promise(() => net.end())
      )
      const folder = join(tmpdir(), `${folderPrefix}${net.id}`)
      yield* Effect.acquireRelease(
        Effect.sync(() => mkdirSync(folder)),
        () => Effect.sync(() => clear(folder))
      )
      chmodSync(folder, 0o711)
      return yield* Effect.promise(() =>
        // The database may be one of the members with a fault.
        Fleet.#start(net, folder, socketOf(connect), shape, () => Effect.runPromise(ready).catch(() => 0))
      )
    })

  static async #start(
    net: Net,
    folder: string,
    database: ReturnType<typeof socketOf>,
    {
      services = 2,
      hosts = 2,
      driver = "namespace",
      environment = {},
      source = main,
      port = apiPort,
      key = newSecret(),
      addresses = []
    }: Partial<FleetShape>,
    ready: () => Promise<number>
  ): Promise<Fleet> {
    const place = async (name: string) => {
      const dataDir = join(folder, name)
      mkdirSync(dataDir)
      chmodSync(dataDir, 0o755)
      return { name, dataDir, member: await net.join(name) }
    }
    const secret = `${newSecret()}\n`
    const secretFiles = new Map<string, string>()
    const secretFileOf = (name: string): string => {
      const path = join(folder, `secret-${name}`)
      writeFileSync(path, secret, { mode: 0o600 })
      secretFiles.set(name, path)
      return path
    }
    const secretFile = secretFileOf("fleet")
    const server = await net.join("database")
    const servicePlaces = await Promise.all(Array.from({ length: services }, (_, at) => place(`service-${at}`)))
    const hostPlaces = await Promise.all(Array.from({ length: hosts }, (_, at) => place(`host-${at}`)))
    if (addresses.length > 0) await net.lodge(addresses)
    const shared = {
      ATOLL_LOG_LEVEL: "warn",
      ATOLL_FLEET_PORT: String(fleetPort),
      ATOLL_RECONCILE_INTERVAL_MS: "2000",
      ATOLL_VOLUME_BYTES: String(32 * 1024 * 1024),
      ATOLL_SANDBOX_MEMORY_BYTES: String(128 * 1024 * 1024),
      ...environment
    }
    const fleet = new Fleet(
      net,
      folder,
      secretFile,
      secretFiles,
      servicePlaces.map(({ name, dataDir, member }) =>
        ServiceProcess.at(member, port, dataDir, key, {
          ...shared,
          ATOLL_ROLE: "service",
          ATOLL_FLEET_SECRET_FILE: secretFileOf(name),
          DATABASE_URL: `postgres://${database.user}@${server.address}:${databasePort}/${database.database}`,
          ATOLL_FLEET_HOST: member.address,
          ATOLL_CLUSTER_HOST: member.address,
          ATOLL_CLUSTER_PORT: String(actorsPort)
        })
      ),
      hostPlaces.map(
        ({ name, dataDir, member }) =>
          new HostProcess(name, member, dataDir, {
            ...shared,
            ATOLL_ROLE: "host",
            ATOLL_FLEET_SECRET_FILE: secretFileOf(name),
            ATOLL_RUNTIME: driver,
            ATOLL_FLEET_HOST: member.address,
            ATOLL_FLEET_JOIN: servicePlaces.map((service) => `${service.member.address}:${fleetPort}`).join(",")
          })
      ),
      ready,
      driver === "qemu" ? machinesReadyWithinMs : readyWithinMs
    )
    fleet.#relay.spawn(
      ["test/support/fleet/fixtures/relay.ts", database.path, server.address, String(databasePort)],
      // Shows which fleet the process belongs to.
      { ATOLL_DATA_DIR: join(folder, "database") },
      server.enter
    )
    await untilFound(() => answers(databasePort, server.address), {
      withinMs: readyWithinMs,
      otherwise: () => fleet.#relay.log
    })
    for (const host of fleet.hosts) host.start(source)
    await Promise.all(fleet.services.map((service) => service.start(undefined, undefined, source)))
    await fleet.untilReady()
    return fleet
  }

  private constructor(
    net: Net,
    folder: string,
    secretFile: string,
    secretFiles: ReadonlyMap<string, string>,
    services: ReadonlyArray<ServiceProcess>,
    hosts: ReadonlyArray<HostProcess>,
    ready: () => Promise<number>,
    readyWithinMs: number
  ) {
    this.net = net
    this.folder = folder
    this.secretFile = secretFile
    this.#secretFiles = secretFiles
    this.services = services
    this.hosts = hosts
    this.#ready = ready
    this.#readyWithinMs = readyWithinMs
  }

  /** It has another secret than the others from now on. */
  estrange(name: string): void {
    writeFileSync(this.#secretFiles.get(name)!, `${newSecret()}\n`)
  }

  /** Every member has the fleet's secret. */
  #reconcile(): void {
    for (const file of this.#secretFiles.values()) {
      if (readFileSync(file, "utf8") !== readFileSync(this.secretFile, "utf8")) copyFileSync(this.secretFile, file)
    }
  }

  /** The last log lines of each of its members. */
  get log() {
    const last = (log: string) =>
      log
        .split("\n")
        .slice(-linesShown)
        .map((line) => line.slice(0, charactersShown))
    return [...this.services, ...this.hosts].flatMap(({ dataDir, log }) => [`== ${dataDir}`, ...last(log)]).join("\n")
  }

  /** Every host is up and takes Sandboxes. */
  async untilReady(): Promise<void> {
    const ended = () => this.hosts.find(({ exitCode }) => exitCode !== null)
    await untilFound(async () => ended() !== undefined || (await this.#ready()) >= this.hosts.length, {
      withinMs: this.#readyWithinMs,
      otherwise: () => `Not every host is ready:\n${this.log}`
    })
    const host = ended()
    if (host !== undefined) throw new Error(`${host.name} ended with ${host.exitCode}:\n${this.log}`)
  }

  /** The members that ended by themselves. */
  get collapsed(): ReadonlyArray<string> {
    return [...this.services, ...this.hosts].flatMap(({ dataDir, hasEnded, log }) =>
      hasEnded ? [`${dataDir} ended by itself:\n${log.slice(-collapseShown)}`] : []
    )
  }

  /** No member is frozen, cut, slow, estranged or down any more. */
  async mend(): Promise<void> {
    await this.net.heal()
    this.#reconcile()
    for (const program of [...this.services, ...this.hosts]) program.thaw()
    for (const host of this.hosts) {
      if (!host.isItself) await host.kill()
      if (!host.isUp) host.start()
    }
    await Promise.all(this.services.filter((service) => !service.isUp).map((service) => service.start()))
    await this.untilReady()
  }

  /**
   * Deletes every Sandbox of the first account through a service; then the fleet stops in order. Returns what is left
   * of it on this machine: nothing.
   */
  async retire(): Promise<ReadonlyArray<string>> {
    await this.services[0]!.deleteSandboxes()
    await Promise.all(this.hosts.map((host) => host.stop()))
    await Promise.all(this.services.map((service) => service.stop()))
    await this.#relay.kill()
    let left: ReadonlyArray<string> = []
    await untilFound(
      () => {
        left = remainsOf(this.folder)
        return left.length === 0
      },
      { withinMs: goneWithinMs, otherwise: () => left.join("\n") }
    ).catch(() => null)
    return left
  }
}
