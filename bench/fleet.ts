/**
 * What a fleet costs, side by side: role `all` of this version (near), a service and a host on the loopback with TLS (remote), and role `all` of
 * another version where BENCH_AGAINST names its folder. In turns, so that all meet the same machine; nothing fails when an aim is missed.
 * BENCH_MEASURES=create,up takes only those.
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
import { orders, type Paired, paired } from "./pairs.ts"
import { Sender } from "./Sender.ts"

const against = process.env["BENCH_AGAINST"] ?? null
const only = process.env["BENCH_ONLY"] ?? null
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 6)
const liveActors = Number(process.env["BENCH_ACTORS"] ?? 10_000)
const executesARound = 240
/** Of those in one turn. */
const callsATurn = 20
/** A create differs from the next by far more than one way to a Sandbox from another: only many tell. */
const createsARound = 24
const passesARound = 6
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
const asked = process.env["BENCH_MEASURES"]?.split(",") ?? null
const unknown = asked?.filter((name) => !Object.hasOwn(measures, name)) ?? []
if (unknown.length > 0)
  throw new Error(`BENCH_MEASURES names ${unknown.join(", ")}; there are ${Object.keys(measures).join(", ")}`)
const measured = (Object.keys(measures) as ReadonlyArray<Measure>).filter((measure) => asked?.includes(measure) ?? true)

/** Milliseconds, turn by turn. */
type Taken = Readonly<Record<Measure, Array<number>>>

/** One way to a Sandbox. */
class Subject {
  readonly name: string
  readonly took: Taken = { execute: [], get: [], create: [], up: [], down: [], tunnel: [] }
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
    const body = { workspaceId: this.#workspace, networkEnabled: false }
    const began = performance.now()
    const { sandbox } = await this.#service.call<{ sandbox: { id: string } }>("POST", "/sandboxes?wait=running", body)
    await this.#execute(sandbox.id)
    const took = performance.now() - began
    await this.#service.call("DELETE", `/sandboxes/${sandbox.id}`)
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

/** One round: what each of them took. */
const inTurns = async (subjects: ReadonlyArray<Subject>): Promise<ReadonlyMap<string, Taken>> => {
  const tar = await archive()
  for (const subject of subjects) {
    await timed(500, subject.execute)
    await timed(500, subject.get)
    await timed(3, subject.create)
    await subject.up(tar)
    await subject.down()
    await subject.tunnel()
  }
  const every = orders(subjects)
  const each = async (
    turns: number,
    measure: (subject: Subject) => Promise<ReadonlyArray<number>>,
    what: Measure
  ): Promise<void> => {
    if (!measured.includes(what)) return
    for (let turn = 0; turn < turns; turn++) {
      for (const subject of every[turn % every.length]!) subject.took[what].push(...(await measure(subject)))
    }
  }
  await each(executesARound / callsATurn, ({ execute }) => timed(callsATurn, execute), "execute")
  await each(executesARound / callsATurn, ({ get }) => timed(callsATurn, get), "get")
  await each(createsARound, async ({ create }) => [await create()], "create")
  await each(passesARound, ({ up }) => timed(1, () => up(tar)), "up")
  await each(passesARound, ({ down }) => timed(1, down), "down")
  await each(passesARound, ({ tunnel }) => timed(1, tunnel), "tunnel")
  return new Map(subjects.map(({ name, took }) => [name, took]))
}

const bytesOf: Partial<Record<Measure, number>> = { up: fileBytes, down: fileBytes, tunnel: tunnelBytes }

/** What a remote Sandbox may cost more, in ms. */
const mostMore: Partial<Record<Measure, number>> = { execute: 1.5, create: 5 }

type Round = ReadonlyMap<string, Taken>

const tell = (all: ReadonlyArray<Round>): void => {
  const names = [...all[0]!.keys()].sort()
  const turns = (name: string, measure: Measure) => all.map((round) => round.get(name)![measure])
  console.table(
    measured.flatMap((measure) =>
      names.map((name) => {
        const took = turns(name, measure).flat()
        return {
          what: measures[measure],
          of: name,
          "p50 ms": ms(quantile(took, 0.5)),
          "p99 ms": ms(quantile(took, 0.99)),
          "MiB/s": bytesOf[measure] === undefined ? "" : Math.round(rate(bytesOf[measure], took))
        }
      })
    )
  )
  const row = (what: string, { is, rounds: [least, most] }: Paired, wanted: string, unit = "") => ({
    what,
    is: `${is >= 0 && unit !== "" ? "+" : ""}${ms(is)}${unit}`,
    "of a round": `${ms(least)} to ${ms(most)}`,
    wanted
  })
  const remotely = measured.flatMap((measure) => {
    const [remote, near] = [turns("remote", measure), turns("near", measure)]
    if (measure in mostMore) {
      const more = paired(remote, near, (one, other) => one - other)
      return [row(`${measures[measure]}, remote against near, p50`, more, `+${mostMore[measure]} ms at most`, " ms")]
    }
    if (!(measure in bytesOf)) return []
    return [
      row(
        `${measures[measure]}, remote of near`,
        paired(near, remote, (one, other) => one / other),
        "0.6"
      )
    ]
  })
  const unchanged =
    against === null
      ? []
      : measured.map((measure) =>
          row(
            `${measures[measure]}, role all, time of the earlier version's, p50`,
            paired(turns("near", measure), turns("earlier", measure), (one, other) => one / other),
            "1.03 at most"
          )
        )
  console.table([...remotely, ...unchanged])
}

const environment = { ATOLL_RUNTIME: "namespace", ATOLL_SERVICE_ACCESS: "on" }

/** Starts what answers, for as long as it is used. */
type Start = (use: (subject: Subject) => Promise<Round>) => Promise<Round>

const starts: ReadonlyArray<Start> = [
  (use) => BenchService.use(environment, async (service) => use(await Subject.of("near", service))),
  (use) =>
    withPostgres((database) =>
      withFleet(database, { services: 1, environment }, async ([service]) => use(await Subject.of("remote", service!)))
    ),
  ...(against === null
    ? []
    : [
        (use: (subject: Subject) => Promise<Round>) =>
          BenchService.use(environment, async (service) => use(await Subject.of("earlier", service)), {
            sources: against
          })
      ])
]

const started = ([start, ...others]: ReadonlyArray<Start>, subjects: ReadonlyArray<Subject>): Promise<Round> =>
  start === undefined ? inTurns(subjects) : start((subject) => started(others, [...subjects, subject]))

/** A service that was started before another is some percent slower or faster for as long as they live: each round has new ones, in another order. */
const compare = async (): Promise<void> => {
  const every = orders(starts)
  const all: Array<Round> = []
  for (let round = 0; round < rounds; round++) all.push(await started(every[round % every.length]!, []))
  tell(all)
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
          "max ms": Math.round(quantile(took, 1)),
          "wanted p99 ms": 5000
        }
      ])
    })
  )
}

const parts = { compare, createCosts, takeover }
for (const [name, part] of Object.entries(parts)) if (only === null || only === name) await part()
