/**
 * The costs of a fleet, side by side: role `all` of this version (near), a service and a host on the loopback with TLS
 * (remote), and role `all` of another version where BENCH_AGAINST names its folder. Alternately, so that all meet the
 * same machine; a missed aim is no failure.
 * BENCH_MEASURES=create,up runs only those; BENCH_ROUNDS more or fewer rounds than 6, four times as many of requests
 * that carry little.
 * Then, on the simulated runtime: the database's cost of a create, and how soon the actors of a killed service answer
 * elsewhere.
 */
import { execFileSync } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Hash } from "effect"
import { shardsPerGroup } from "../src/engine/shards.ts"
import { withFleet } from "./BenchFleet.ts"
import { type BenchPostgres, withPostgres } from "./BenchPostgres.ts"
import { BenchService, quantile, timed } from "./BenchService.ts"
import { BenchTunnel } from "./BenchTunnel.ts"
import { orders, type Paired, paired } from "./InTurn.ts"
import { Sender } from "./Sender.ts"

const against = process.env["BENCH_AGAINST"] ?? null
const only = process.env["BENCH_ONLY"] ?? null
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 6)
const liveActors = Number(process.env["BENCH_ACTORS"] ?? 10_000)
const MiB = 1024 ** 2
const fileBytes = 100 * MiB
const tunnelBytes = 256 * MiB

const { send } = new Sender(8)

let made: Promise<Buffer> | null = null
/** Made at its first use: not every part sends it. */
const tar = (): Promise<Buffer> => {
  made ??= archive()
  return made
}

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

/** One connection to a Sandbox. */
class Subject {
  readonly name: string
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

  /** Its end is not measured. */
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
  up = async () =>
    send("POST", this.#folder(), { ...this.#service.headers, "content-type": "application/x-tar" }, await tar())
  down = () => send("GET", this.#folder(), { ...this.#service.headers, "accept-encoding": "identity" })
  tunnel = () => this.#tunnel.carry(tunnelBytes)
}

interface Measure {
  readonly what: string
  /** A turn: milliseconds of one call or more. */
  readonly take: (subject: Subject) => Promise<ReadonlyArray<number>>
  readonly warm: (subject: Subject) => Promise<unknown>
  readonly turnsARound: number
  /** The bytes that a turn carries. */
  readonly bytes?: number
  /** The permitted extra cost of a remote Sandbox, in ms; without it, `leastPace` bounds how much slower it may be. */
  readonly mostMore?: number
}

const callsATurn = 20
const leastPace = 0.6

/** Starts of a service differ by more than the measured effect, so there are many rounds of a few turns. */
const requests = {
  execute: {
    what: "execute true",
    take: ({ execute }) => timed(callsATurn, execute),
    warm: ({ execute }) => timed(500, execute),
    turnsARound: 12,
    mostMore: 1.5
  },
  get: {
    what: "GET a Sandbox",
    take: ({ get }) => timed(callsATurn, get),
    warm: ({ get }) => timed(500, get),
    turnsARound: 12
  },
  create: {
    what: "create to first command ended",
    take: async ({ create }) => [await create()],
    warm: ({ create }) => timed(12, create),
    turnsARound: 12,
    mostMore: 5
  }
} satisfies Record<string, Measure>

const streams = {
  up: {
    what: "100 MiB in",
    take: ({ up }) => timed(1, up),
    warm: ({ up }) => up(),
    turnsARound: 6,
    bytes: fileBytes
  },
  down: {
    what: "100 MiB out",
    take: ({ down }) => timed(1, down),
    warm: async ({ up, down }) => {
      await up()
      await down()
    },
    turnsARound: 6,
    bytes: fileBytes
  },
  tunnel: {
    what: "256 MiB out of a tunnel",
    take: ({ tunnel }) => timed(1, tunnel),
    warm: ({ tunnel }) => tunnel(),
    turnsARound: 6,
    bytes: tunnelBytes
  }
} satisfies Record<string, Measure>

const asked = process.env["BENCH_MEASURES"]?.split(",") ?? null
const known = Object.keys({ ...requests, ...streams })
const unknown = asked?.filter((name) => !known.includes(name)) ?? []
if (unknown.length > 0) throw new Error(`BENCH_MEASURES names ${unknown.join(", ")}; there are ${known.join(", ")}`)

const wanted = (measures: Readonly<Record<string, Measure>>): ReadonlyArray<Measure> =>
  Object.entries(measures).flatMap(([name, measure]) => ((asked?.includes(name) ?? true) ? [measure] : []))

/** Milliseconds of one round, turn by turn, by the subject's name and the measure. */
type Round = ReadonlyMap<string, ReadonlyMap<Measure, ReadonlyArray<number>>>

const ms = (value: number) => Number(value.toFixed(2))
const rate = (bytes: number, took: ReadonlyArray<number>) => bytes / MiB / (quantile(took, 0.5) / 1000)

const inTurns = async (subjects: ReadonlyArray<Subject>, measures: ReadonlyArray<Measure>): Promise<Round> => {
  for (const subject of subjects) for (const { warm } of measures) await warm(subject)
  const every = orders(subjects)
  const all = new Map(subjects.map(({ name }) => [name, new Map<Measure, Array<number>>()]))
  for (const measure of measures) {
    for (const took of all.values()) took.set(measure, [])
    for (let turn = 0; turn < measure.turnsARound; turn++) {
      for (const subject of every[turn % every.length]!)
        all
          .get(subject.name)!
          .get(measure)!
          .push(...(await measure.take(subject)))
    }
  }
  return all
}

const tell = (measures: ReadonlyArray<Measure>, all: ReadonlyArray<Round>): void => {
  const names = [...all[0]!.keys()].sort()
  const turns = (name: string, measure: Measure) => all.map((round) => round.get(name)!.get(measure)!)
  console.table(
    measures.flatMap((measure) =>
      names.map((name) => {
        const took = turns(name, measure).flat()
        return {
          what: measure.what,
          of: name,
          "p50 ms": ms(quantile(took, 0.5)),
          "p99 ms": ms(quantile(took, 0.99)),
          "MiB/s": measure.bytes === undefined ? "" : Math.round(rate(measure.bytes, took))
        }
      })
    )
  )
  const row = (what: string, { is, rounds: [least, most] }: Paired, aim: string, unit = "") => ({
    what,
    is: `${is >= 0 && unit !== "" ? "+" : ""}${ms(is)}${unit}`,
    [`of ${all.length} rounds`]: `${ms(least)} to ${ms(most)}`,
    wanted: aim
  })
  const remotely = measures.flatMap((measure) => {
    const [remote, near] = [turns("remote", measure), turns("near", measure)]
    if (measure.mostMore !== undefined) {
      const more = paired(remote, near, (one, other) => one - other)
      return [row(`${measure.what}, remote against near, p50`, more, `+${measure.mostMore} ms at most`, " ms")]
    }
    if (measure.bytes === undefined) return []
    const pace = paired(near, remote, (one, other) => one / other)
    return [row(`${measure.what}, remote of near`, pace, `${leastPace}`)]
  })
  const unchanged =
    against === null
      ? []
      : measures.map((measure) =>
          row(
            `${measure.what}, role all, time of the earlier version's, p50`,
            paired(turns("near", measure), turns("earlier", measure), (one, other) => one / other),
            "1.03 at most"
          )
        )
  console.table([...remotely, ...unchanged])
}

const environment = { ATOLL_RUNTIME: "namespace", ATOLL_SERVICE_ACCESS: "on" }

/** Starts the answering processes, for as long as they are used. */
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

const started = (
  [start, ...others]: ReadonlyArray<Start>,
  subjects: ReadonlyArray<Subject>,
  measures: ReadonlyArray<Measure>
): Promise<Round> =>
  start === undefined
    ? inTurns(subjects, measures)
    : start((subject) => started(others, [...subjects, subject], measures))

/**
 * A service that was started before another is some percent slower or faster for as long as they live: each round has
 * new ones, in another order.
 */
const compareThose = async (measures: ReadonlyArray<Measure>, count: number): Promise<void> => {
  if (measures.length === 0) return
  const every = orders(starts)
  const all: Array<Round> = []
  for (let round = 0; round < count; round++) all.push(await started(every[round % every.length]!, [], measures))
  tell(measures, all)
}

const compare = async (): Promise<void> => {
  await compareThose(wanted(requests), 4 * rounds)
  await compareThose(wanted(streams), rounds)
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

/** So many concurrently, until all are done. */
const atOnce = async (count: number, concurrency: number, call: (index: number) => Promise<unknown>): Promise<void> => {
  let next = 0
  const worker = async () => {
    while (next < count) await call(next++)
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}

/** Running Sandboxes, made by any of the services. */
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

/** As Effect Cluster assigns actors to shards. */
const shardOf = (id: string) => `default:${Math.abs(Hash.string(id) % shardsPerGroup) + 1}`

const probes = 1000

const takeover = async (): Promise<void> => {
  await withPostgres((database) =>
    withFleet(database, { services: 3, environment: roomy, leavesSandboxes: true }, async (services) => {
      const ids = await makeSandboxes(services, liveActors)
      // The owner answers a start of a running Sandbox from memory.
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
