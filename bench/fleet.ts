/**
 * What a fleet costs, side by side: role `all` of this version (near), a service and a host on the loopback with TLS (remote), and role `all` of
 * another version where BENCH_AGAINST names its folder. In turns, so that all meet the same machine; nothing fails when an aim is missed.
 *
 * Then, on the simulated runtime: what a create costs the database, and how soon the actors of a service that was killed answer elsewhere.
 */
import { execFileSync } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Hash } from "effect"
import { shardsPerGroup } from "../src/actor/shards.ts"
import { withFleet } from "./BenchFleet.ts"
import { type BenchPostgres, withPostgres } from "./BenchPostgres.ts"
import { BenchService, quantile, timed } from "./BenchService.ts"
import { BenchTunnel } from "./BenchTunnel.ts"
import { Sender } from "./Sender.ts"

const against = process.env["BENCH_AGAINST"] ?? null
const only = process.env["BENCH_ONLY"] ?? null
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 5)
const liveActors = Number(process.env["BENCH_ACTORS"] ?? 10_000)
const executesARound = 200
const createsARound = 6
const passesARound = 2
const MiB = 1024 ** 2
const fileBytes = 100 * MiB
const tunnelBytes = 256 * MiB

const { send } = new Sender(8)

/** A tar archive with one file of 100 MiB in it: the longest content of a plain file is 8 MiB. */
const archive = async (): Promise<Buffer> => {
  const folder = await mkdtemp(join(tmpdir(), "atoll-bench-tar-"))
  try {
    await writeFile(join(folder, "file"), Buffer.alloc(fileBytes, "0123456789abcdef-"))
    return execFileSync("tar", ["c", "-C", folder, "file"], { maxBuffer: 2 * fileBytes })
  } finally {
    await rm(folder, { recursive: true })
  }
}

// --- near and remote -------------------------------------------------------------------------------------------------

const measures = {
  execute: "execute true",
  get: "GET a Sandbox",
  create: "create to first command ended",
  up: "100 MiB in",
  down: "100 MiB out",
  tunnel: "256 MiB out of a tunnel"
} as const
type Measure = keyof typeof measures

/** One way to a Sandbox. */
class Subject {
  readonly name: string
  readonly took: Record<Measure, Array<number>> = { execute: [], get: [], create: [], up: [], down: [], tunnel: [] }
  readonly #service: BenchService
  readonly #workspace: string
  readonly #sandbox: string
  readonly #tunnel: BenchTunnel

  private constructor(name: string, service: BenchService, workspace: string, sandbox: string, tunnel: BenchTunnel) {
    this.name = name
    this.#service = service
    this.#workspace = workspace
    this.#sandbox = sandbox
    this.#tunnel = tunnel
  }

  static async of(name: string, service: BenchService): Promise<Subject> {
    const workspace = await service.workspace()
    const sandbox = await service.sandbox(workspace)
    return new Subject(name, service, workspace, sandbox, await BenchTunnel.into(service, sandbox))
  }

  #execute = (sandbox: string) => this.#service.call("POST", `/sandboxes/${sandbox}/execute`, { argv: ["true"] })

  execute = () => this.#execute(this.#sandbox)
  get = () => this.#service.call("GET", `/sandboxes/${this.#sandbox}`)

  /** Its end is not a part of it. */
  create = async (): Promise<number> => {
    const began = performance.now()
    const sandbox = await this.#service.sandbox(this.#workspace)
    await this.#execute(sandbox)
    const took = performance.now() - began
    await this.#service.call("DELETE", `/sandboxes/${sandbox}`)
    return took
  }

  #folder = () => `${this.#service.base}/sandboxes/${this.#sandbox}/files/archive?path=/workspace/archive`
  up = (tar: Buffer) =>
    send("POST", this.#folder(), { ...this.#service.headers, "content-type": "application/x-tar" }, tar)
  down = () => send("GET", this.#folder(), { ...this.#service.headers, "accept-encoding": "identity" })
  tunnel = () => this.#tunnel.carry(tunnelBytes)
}

const ms = (value: number) => Number(value.toFixed(2))
const rate = (bytes: number, took: ReadonlyArray<number>) => bytes / MiB / (quantile(took, 0.5) / 1000)

/** Each round begins with another one: whoever is second finds warmer caches. */
const rotated = <A>(list: ReadonlyArray<A>, by: number) => [
  ...list.slice(by % list.length),
  ...list.slice(0, by % list.length)
]

const inTurns = async (subjects: ReadonlyArray<Subject>): Promise<void> => {
  const tar = await archive()
  for (const subject of subjects) {
    await timed(1000, subject.execute)
    await timed(500, subject.get)
    await subject.create()
    await subject.up(tar)
    await subject.down()
    await subject.tunnel()
  }
  for (let round = 0; round < rounds; round++) {
    const order = rotated(subjects, round)
    for (let part = 0; part < 10; part++) {
      for (const { took, execute } of order) took.execute.push(...(await timed(executesARound / 10, execute)))
      for (const { took, get } of order) took.get.push(...(await timed(executesARound / 10, get)))
    }
    for (let pass = 0; pass < createsARound; pass++) {
      for (const { took, create } of order) took.create.push(await create())
    }
    for (let pass = 0; pass < passesARound; pass++) {
      for (const { took, up } of order) took.up.push(...(await timed(1, () => up(tar))))
      for (const { took, down } of order) took.down.push(...(await timed(1, down)))
      for (const { took, tunnel } of order) took.tunnel.push(...(await timed(1, tunnel)))
    }
  }
}

const bytesOf: Partial<Record<Measure, number>> = { up: fileBytes, down: fileBytes, tunnel: tunnelBytes }

const tell = (near: Subject, remote: Subject, earlier: Subject | null): void => {
  console.table(
    (Object.keys(measures) as ReadonlyArray<Measure>).flatMap((measure) =>
      [...(earlier === null ? [] : [earlier]), near, remote].map(({ name, took }) => ({
        what: measures[measure],
        of: name,
        "p50 ms": ms(quantile(took[measure], 0.5)),
        "p99 ms": ms(quantile(took[measure], 0.99)),
        "MiB/s": bytesOf[measure] === undefined ? "" : Math.round(rate(bytesOf[measure], took[measure]))
      }))
    )
  )
  /** What came one after the other met the same machine. */
  const paired = (measure: Measure, one: Subject, other: Subject, compare: (one: number, other: number) => number) =>
    ms(
      quantile(
        one.took[measure].map((took, index) => compare(took, other.took[measure][index]!)),
        0.5
      )
    )
  const more = (measure: Measure) => {
    const by = paired(measure, remote, near, (one, other) => one - other)
    return `${by < 0 ? "" : "+"}${by} ms`
  }
  const speed = (measure: Measure) => paired(measure, near, remote, (one, other) => one / other)
  const table = [
    { what: "execute true, remote against near, p50", is: more("execute"), wanted: "+1.5 ms at most" },
    { what: "create to first command, remote against near, p50", is: more("create"), wanted: "+5 ms at most" },
    { what: "100 MiB in, remote of near", is: speed("up"), wanted: "0.6" },
    { what: "100 MiB out, remote of near", is: speed("down"), wanted: "0.6" },
    { what: "tunnel, remote of near", is: speed("tunnel"), wanted: "0.6" }
  ]
  const unchanged =
    earlier === null
      ? []
      : (Object.keys(measures) as ReadonlyArray<Measure>).map((measure) => ({
          what: `${measures[measure]}, role all, time of the earlier version's, p50`,
          is: paired(measure, near, earlier, (one, other) => one / other),
          wanted: "1.03 at most"
        }))
  console.table([...table, ...unchanged])
}

const compare = async (): Promise<void> => {
  const environment = { ATOLL_RUNTIME: "namespace", ATOLL_SERVICE_ACCESS: "on" }
  await withPostgres((database) =>
    withFleet(database, { services: 1, environment }, ([service]) =>
      BenchService.use(environment, async (all) => {
        const near = await Subject.of("near", all)
        const remote = await Subject.of("remote", service!)
        if (against === null) {
          await inTurns([near, remote])
          return tell(near, remote, null)
        }
        await BenchService.use(
          environment,
          async (other) => {
            const earlier = await Subject.of("earlier", other)
            await inTurns([earlier, near, remote])
            tell(near, remote, earlier)
          },
          { sources: against }
        )
      })
    )
  )
}

// --- simulated -------------------------------------------------------------------------------------------------------

const roomy = {
  ATOLL_RUNTIME: "simulated",
  ATOLL_SANDBOXES_PER_ACCOUNT: String(4 * liveActors),
  ATOLL_VOLUME_BYTES: String(4096),
  ATOLL_SANDBOX_MEMORY_BYTES: String(MiB),
  ATOLL_HOST_VCPUS: String(4 * liveActors),
  ATOLL_HOST_MEMORY_BYTES: String(4 * liveActors * MiB),
  ATOLL_PARALLEL_STARTS: "64"
}

/** So many at once, until all are done. */
const atOnce = async (count: number, concurrency: number, call: (index: number) => Promise<unknown>): Promise<void> => {
  let next = 0
  const worker = async () => {
    while (next < count) await call(next++)
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}

/** Sandboxes that run, made by any of the services. */
const makeSandboxes = async (services: ReadonlyArray<BenchService>, count: number): Promise<ReadonlyArray<string>> => {
  const workspaceId = await services[0]!.workspace()
  const ids: Array<string> = []
  await atOnce(count, 16, async (index) => ids.push(await services[index % services.length]!.sandbox(workspaceId)))
  return ids
}

const createCost = async (
  what: string,
  database: BenchPostgres,
  services: ReadonlyArray<BenchService>
): Promise<object> => {
  const count = 1000
  await makeSandboxes(services, 300)
  const [cpu, began] = [await database.cpuSeconds(), performance.now()]
  await makeSandboxes(services, count)
  return {
    what,
    "database CPU ms": ms((((await database.cpuSeconds()) - cpu) * 1000) / count),
    "Sandboxes a second, 16 callers": Math.round(count / ((performance.now() - began) / 1000))
  }
}

const createCosts = async (): Promise<void> => {
  const all = await withPostgres((database) =>
    BenchService.use(
      { ...roomy, DATABASE_URL: database.url },
      (service) => createCost("role all", database, [service]),
      { leavesSandboxes: true }
    )
  )
  const fleet = await withPostgres((database) =>
    withFleet(database, { services: 1, environment: roomy, leavesSandboxes: true }, (services) =>
      createCost("a service and a host", database, services)
    )
  )
  console.table([all, fleet])
}

/** As Effect Cluster deals actors to shards. */
const shardOf = (id: string) => `default:${Math.abs(Hash.string(id) % shardsPerGroup) + 1}`

const probes = 1000

const takeover = async (): Promise<void> => {
  await withPostgres((database) =>
    withFleet(database, { services: 3, environment: roomy, leavesSandboxes: true }, async (services) => {
      const ids = await makeSandboxes(services, liveActors)
      // A start of what runs is answered by its owner, from memory.
      const answers = (service: BenchService, id: string) => service.call("POST", `/sandboxes/${id}/start`)
      await atOnce(ids.length, 32, (index) => answers(services[1 + (index % 2)]!, ids[index]!))
      const held = await database.rows<{ readonly shard_id: string; readonly process_id: string }>(
        "select shard_id, process_id from cluster_shards"
      )
      const [first] = await database.rows<{ readonly id: string }>(
        "select id from cluster_processes order by machine_id limit 1"
      )
      const lost = new Set(held.flatMap(({ shard_id, process_id }) => (process_id === first!.id ? [shard_id] : [])))
      const theirs = ids.filter((id) => lost.has(shardOf(id)))
      const killedAt = performance.now()
      await services[0]!.kill()
      const took: Array<number> = []
      await atOnce(probes, probes, async (index) => {
        await answers(services[1 + (index % 2)]!, theirs[Math.floor((index / probes) * theirs.length)]!)
        took.push(performance.now() - killedAt)
      })
      console.table([
        {
          "live actors": ids.length,
          "of the one that was killed": theirs.length,
          asked: probes,
          "p50 ms": Math.round(quantile(took, 0.5)),
          "p99 ms": Math.round(quantile(took, 0.99)),
          "wanted p99 ms": 5000
        }
      ])
    })
  )
}

const parts = { compare, createCosts, takeover }
for (const [name, part] of Object.entries(parts)) if (only === null || only === name) await part()
