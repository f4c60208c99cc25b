/**
 * The rows that a Sandbox leaves in the database, and the cost of very many idle ones. First 200 lives (create, an
 * execute, an operation, stop) on the simulated runtime: bytes of each table and of the write-ahead log for each life
 * and each transition; the cost of a sample of telemetry, the number of notifications that the server passes on, and
 * the time to place a Sandbox on one of 1,000 hosts. Then one of these Sandboxes is copied a million times
 * (BENCH_SANDBOXES), stopped and with a deadline far away, and for a minute the service is idle over them: the CPU of
 * the service and of its database, and each of its statements that takes 10 ms or more.
 * @source deploy/scale.md, which uses these figures
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Settings } from "../src/Config.ts"
import { Reservations } from "../src/fleet/Reservations.ts"
import { databaseOf, query } from "./BenchDatabase.ts"
import { BenchService, quantile } from "./BenchService.ts"
import { copySandboxes, removeCopies } from "./SandboxCopies.ts"

const lives = 200
const repeated = 2000
const hosts = 1000
const placed = 500
const together = 20
const copies = Number(process.env["BENCH_SANDBOXES"] ?? 1_000_000)
const idleSeconds = 60
const slowMs = 10
const ticksPerSecond = 100

interface Sizes {
  readonly wal: number
  readonly transitions: number
  readonly tables: ReadonlyMap<string, number>
}

const sizes = async (service: BenchService): Promise<Sizes> => {
  await query(service, "vacuum analyze")
  const tables = await query<{ name: string; bytes: string }>(
    service,
    "select relname as name, pg_total_relation_size(oid)::text as bytes from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace"
  )
  const [log] = await query<{ wal: string; transitions: string }>(
    service,
    "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text as wal, (select count(*) from transitions)::text as transitions"
  )
  return {
    wal: Number(log!.wal),
    transitions: Number(log!.transitions),
    tables: new Map(tables.map(({ name, bytes }) => [name, Number(bytes)]))
  }
}

/** CPU seconds of every process of the database's server. */
const databaseCpu = (service: BenchService): number => {
  const postmaster = Number(
    readFileSync(join(service.databaseSocketFolder, "../data/postmaster.pid"), "utf8").split("\n")[0]
  )
  let ticks = 0
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ")
      if (Number(pid) === postmaster || Number(fields[1]) === postmaster)
        ticks += Number(fields[11]) + Number(fields[12])
    } catch {
      // It ended meanwhile.
    }
  }
  return ticks / ticksPerSecond
}

interface Told {
  readonly operation: { readonly id: string; readonly finishedAt: string | null }
}

const operation = async (service: BenchService, sandboxId: string): Promise<void> => {
  const at = `/sandboxes/${sandboxId}/operations`
  let told = await service.call<Told>("POST", at, { argv: ["true"] })
  while (told.operation.finishedAt === null)
    told = await service.call<Told>("POST", `${at}/${told.operation.id}/wait`, {})
}

const live = async (service: BenchService, workspaceId: string): Promise<string> => {
  const id = await service.sandbox(workspaceId)
  await service.call("POST", `/sandboxes/${id}/execute`, { argv: ["true"] })
  await operation(service, id)
  await service.call("POST", `/sandboxes/${id}/stop`)
  return id
}

/** Reserves room on one of so many hosts, each time on another: milliseconds of each. */
const place = async (service: BenchService): Promise<ReadonlyArray<number>> => {
  await query(
    service,
    `insert into hosts (id, label, address_host, address_port, boot, version, driver, kind, vcpus, memory_bytes, disk_bytes, parallel_starts, suspends,
       network_filtered, joined_at, seen_at)
     select 'host_' || i, 'bench', '127.0.0.1', 1, 'bench', '0', 'simulated', 'namespace', 128, 2::int8 ^ 36, 2::int8 ^ 42, 4, false, true, 1, 1
     from generate_series(1, ${hosts}) as i`
  )
  await query(
    service,
    `insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
     select 'host_' || i, 'host', '', '', 1, 1, '{}', '{"value": "ready", "context": {}}', 1 from generate_series(1, ${hosts}) as i`
  )
  await query(service, "analyze hosts, actors")
  const asked = { kind: null, vcpus: 1, memoryBytes: 2 ** 29, diskBytes: 2 ** 32, networkEnabled: true } as const
  const took = await Effect.runPromise(
    Effect.gen(function* () {
      const reservations = yield* Reservations
      return yield* Effect.forEach(Array.from({ length: placed }), (_, index) =>
        Effect.gen(function* () {
          const before = performance.now()
          if ((yield* reservations.take({ ...asked, sandboxId: `sbx_placed${index}` })) === null)
            yield* Effect.die("no room")
          return performance.now() - before
        })
      )
    }).pipe(
      Effect.provide(Reservations.layer),
      Effect.provide(databaseOf(service.databaseSocketFolder)),
      Effect.provide(Settings.layer)
    )
  )
  await query(service, "truncate host_promises, hosts")
  await query(service, "delete from actors where kind = 'host'")
  return took
}

await BenchService.use(
  {
    ATOLL_RUNTIME: "simulated",
    ATOLL_SANDBOXES_PER_ACCOUNT: String(lives + 1),
    ATOLL_WORKSPACE_STORAGE_BYTES: String(2 ** 52)
  },
  async (service) => {
    const workspaceId = await service.workspace()
    const model = await live(service, workspaceId)
    const before = await sizes(service)
    for (let made = 1; made < lives; made++) await live(service, workspaceId)
    const after = await sizes(service)
    const counted = lives - 1
    const transitions = after.transitions - before.transitions
    console.log(
      `A life: ${(transitions / counted).toFixed(1)} transitions, ${Math.round((after.wal - before.wal) / counted)} bytes of write-ahead log (${Math.round((after.wal - before.wal) / transitions)} a transition). Bytes of tables with their indexes:`
    )
    const grown = [...after.tables]
      .map(([table, bytes]) => ({
        table,
        "bytes a life": Math.round((bytes - (before.tables.get(table) ?? 0)) / counted)
      }))
      .filter((row) => row["bytes a life"] > 0)
      .sort((a, b) => b["bytes a life"] - a["bytes a life"])
    console.table(grown)

    const busy = await service.sandbox(workspaceId)
    const execute = () => service.call("POST", `/sandboxes/${busy}/execute`, { argv: ["true"] })
    const operate = () => operation(service, busy)
    for (const [what, work] of [
      ["an execute", execute],
      ["an operation", operate]
    ] as const) {
      const start = await sizes(service)
      const before = { service: await service.cpuSeconds(), database: databaseCpu(service) }
      for (let round = 0; round < repeated / together; round++)
        await Promise.all(Array.from({ length: together }, work))
      const used = (await service.cpuSeconds()) - before.service
      const usedThere = databaseCpu(service) - before.database
      const end = await sizes(service)
      const all = (from: Sizes) => [...from.tables.values()].reduce((sum, bytes) => sum + bytes, 0)
      console.log(
        `${what}: ${((end.transitions - start.transitions) / repeated).toFixed(1)} transitions, ${Math.round((all(end) - all(start)) / repeated)} bytes of tables, ${Math.round((end.wal - start.wal) / repeated)} of write-ahead log, ${((1000 * used) / repeated).toFixed(2)} ms of the service's CPU and ${((1000 * usedThere) / repeated).toFixed(2)} of the database's`
      )
    }

    console.table(
      await query(
        service,
        `select split_part(actor_id, '_', 1) as "kind, by its ids", (count(*)::float8 / ${lives})::float8 as "transitions a life", avg(pg_column_size(t))::int4 as "bytes of a row"
         from transitions t group by 1 order by 2 desc`
      )
    )
    const sampled = 100_000
    const samples = (await sizes(service)).tables.get("telemetry_samples")!
    await query(
      service,
      `insert into telemetry_samples select 'sbx_' || md5((i / 100)::text), 1, i, i * 0.001, i, i, i, i from generate_series(1, ${sampled}) as i`
    )
    console.log(
      `A sample of telemetry: ${Math.round(((await sizes(service)).tables.get("telemetry_samples")! - samples) / sampled)} bytes with its index.`
    )
    await query(service, "truncate telemetry_samples")
    for (const senders of [1, 8]) {
      let told = 0
      const until = performance.now() + 2000
      const tell = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        while (performance.now() < until) {
          yield* sql`select pg_notify('bench', ${`written ${told}`})`
          told++
        }
      })
      await Effect.runPromise(
        Effect.all(
          Array.from({ length: senders }, () => tell),
          { concurrency: "unbounded" }
        ).pipe(Effect.provide(databaseOf(service.databaseSocketFolder)))
      )
      console.log(`Notifications from ${senders} concurrently: ${Math.round(told / 2)} a second.`)
    }

    const placing = await place(service)
    console.log(
      `To take room on one of ${hosts} hosts: p50 ${quantile(placing, 0.5).toFixed(1)} ms, p99 ${quantile(placing, 0.99).toFixed(1)} ms`
    )

    const began = performance.now()
    await copySandboxes((text) => query(service, text), {
      model,
      tag: "copy",
      count: copies,
      dueAt: Date.now() + 10 * 86_400_000
    })
    const filled = await sizes(service)
    const bytes = filled.tables.get("actors")! - after.tables.get("actors")!
    console.log(
      `${copies} copies in ${((performance.now() - began) / 1000).toFixed(0)} s: ${Math.round(bytes / copies)} bytes each with indexes`
    )

    await query(service, `alter system set log_min_duration_statement = ${slowMs}`)
    await query(service, "alter system set log_parameter_max_length = 0")
    await query(service, "select pg_reload_conf()")
    const path = join(service.databaseSocketFolder, "../server.log")
    const offset = readFileSync(path, "utf8").length
    const start = {
      service: await service.cpuSeconds(),
      database: databaseCpu(service),
      resident: await service.residentBytes()
    }
    await new Promise((resolve) => setTimeout(resolve, idleSeconds * 1000))
    await fetch(service.base.replace("/api/v2", "/metrics"))
    const used = {
      service: (await service.cpuSeconds()) - start.service,
      database: databaseCpu(service) - start.database
    }
    const statements = new Map<string, Array<number>>()
    const log = readFileSync(path, "utf8").slice(offset)
    for (const [, ms, text] of log.matchAll(/duration: ([\d.]+) ms {2}[^:]+: ([\s\S]*?)(?=\n\d{4}-\d\d-\d\d |$)/g)) {
      const name = text!.replace(/\s+/g, " ").trim().slice(0, 110)
      statements.set(name, [...(statements.get(name) ?? []), Number(ms)])
    }
    console.log(
      `Standing still for ${idleSeconds} s over ${copies} Sandboxes: CPU of the service ${((100 * used.service) / idleSeconds).toFixed(1)} % of a core, of its database ${((100 * used.database) / idleSeconds).toFixed(1)} %; resident ${Math.round(start.resident / 1024 ** 2)} MiB. Statements of ${slowMs} ms and more:`
    )
    console.table(
      [...statements].map(([statement, took]) => ({
        statement,
        times: took.length,
        "mean ms": Math.round(took.reduce((sum, ms) => sum + ms, 0) / took.length)
      }))
    )
    // The end requests each Sandbox separately.
    await removeCopies((text) => query(service, text), "copy", copies)
  }
)
