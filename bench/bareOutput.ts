/**
 * What bare programs reach where Atoll stores the output of a command and gives it to a client that follows it: `cat` of 100 MB, a program that passes its
 * bytes from a pipe to a unix socket, as the agent does, and one that stores and serves them (BareOutputProgram.ts), as the service does. The floor of
 * `npm run bench -- output` on as many processors. BENCH_ROUNDS: 3.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { get, type IncomingMessage } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../test/support/freePort.ts"
import { withPostgres } from "./BenchPostgres.ts"
import { type ColumnHeadline, headlines } from "./Headline.ts"

const megabytes = 100
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3)

type Column = "read through MB/s" | "memory peak MB"

const figures: ReadonlyArray<ColumnHeadline<Column>> = [
  { name: "bare programs, output of 100 MB: read", unit: "MB/s", better: "higher", column: "read through MB/s" },
  { name: "bare programs, output of 100 MB: memory", unit: "MB", better: "lower", column: "memory peak MB" }
]

/** The table of Atoll, without its other tables. */
const table = `
  create table output_chunks (
    owner_id text not null, stream text not null, start_offset bigint not null, end_offset bigint not null, sandbox_id text not null,
    source text not null, at bigint not null, seq bigint generated always as identity, bytes bytea not null,
    primary key (owner_id, stream, start_offset)
  );
  alter table output_chunks alter column bytes set storage external;
  create index output_chunks_log on output_chunks (sandbox_id, source, stream, at, seq);
  create index output_chunks_age on output_chunks (at)`

/** Runs \`cat FILE\` and passes its output on. */
const passOn = `
  const { spawn } = require("node:child_process")
  const [file, to] = process.argv.slice(1)
  spawn("cat", [file], { stdio: ["ignore", "pipe", "inherit"] }).stdout.pipe(require("node:net").connect(to))`

const statusOf = async (pid: number, field: string) =>
  Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(await readFile(`/proc/${pid}/status`, "utf8"))![1]) * 1024

/** CPU seconds of a process. */
const cpuSecondsOf = async (pid: number) => {
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]!.split(" ")
  return (Number(fields[11]) + Number(fields[12])) / 100
}

await withPostgres(async (database) => {
  for (const statement of table.split(";")) await database.rows(statement)
  const postgres = new URL(database.url).searchParams.get("host")!
  const folder = await mkdtemp(join(tmpdir(), "atoll-bare-"))
  const program = join(import.meta.dirname, "BareOutputProgram.ts")
  const big = join(folder, "big")
  const rows = []
  try {
    await once(spawn("sh", ["-c", `head -c ${megabytes * 1_000_000} /dev/urandom > ${big}`]), "exit")
    // One process for all rounds: its code is compiled after the first.
    const port = await freePort()
    const socket = join(folder, "bytes")
    const service = spawn(process.execPath, [program, socket, String(port), join(postgres, ".s.PGSQL.5432")], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    await once(service.stdout, "data")
    for (let round = 0; round < rounds + 1; round++) {
      const cpu = await cpuSecondsOf(service.pid!)
      const databaseCpu = await database.cpuSeconds()
      const start = performance.now()
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        get({ port, host: "127.0.0.1" }, resolve).once("error", reject)
      })
      spawn(process.execPath, ["-e", passOn, big, socket], { stdio: "inherit" })
      let last = Buffer.alloc(0)
      for await (const piece of answer) last = piece.length >= 4096 ? piece : Buffer.concat([last, piece])
      const seconds = (performance.now() - start) / 1000
      rows.push({
        round,
        "read through MB/s": Math.round(megabytes / seconds),
        "service CPU ms a MB": Number(((((await cpuSecondsOf(service.pid!)) - cpu) * 1000) / megabytes).toFixed(1)),
        "database CPU ms a MB": Number(((((await database.cpuSeconds()) - databaseCpu) * 1000) / megabytes).toFixed(1)),
        "memory peak MB": Math.round((await statusOf(service.pid!, "VmHWM")) / 1e6)
      })
    }
    service.kill()
    console.table(rows)
    headlines(rows.slice(1), figures)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
