/**
 * One `cat` of 100 MB as an operation, alone and with a client that reads it as it comes, in pages or as events: MB/s into the store and to the client,
 * the log that the database writes for it, and the service's memory, which must stay flat. The rate of a Sandbox is not limited here. The first round, of a
 * service that runs uncompiled code, is shown as well. BENCH_ROUNDS: 3. BENCH_SOURCES: the folder of the version that is measured.
 */
import { Agent, get, type IncomingMessage } from "node:http"
import { type BenchPostgres, withPostgres } from "./BenchPostgres.ts"
import { BenchService } from "./BenchService.ts"
import { type ColumnHeadline, headlines } from "./Headline.ts"

const megabytes = 100
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3)

type Column = "stored MB/s" | "read through MB/s" | "log bytes a byte" | "memory peak MB"

const name = "output of 100 MB, followed"
const figures: ReadonlyArray<ColumnHeadline<Column>> = [
  { name: `${name}: stored`, unit: "MB/s", better: "higher", column: "stored MB/s", aim: { value: 90 } },
  { name: `${name}: read`, unit: "MB/s", better: "higher", column: "read through MB/s", aim: { value: 80 } },
  { name: `${name}: WAL a byte`, unit: "B", better: "lower", column: "log bytes a byte", aim: { value: 1.3 } },
  { name: `${name}: memory at its peak`, unit: "MB", better: "lower", column: "memory peak MB", aim: { value: 300 } }
]

/** How a client may read output as it comes; each gives how many bytes arrived. */
const readersOf = (service: BenchService, sandboxId: string) => {
  const connection = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (operationId: string, search: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const url = `${service.base}/sandboxes/${sandboxId}/operations/${operationId}/output${search}`
      get(url, { headers: service.headers, agent: connection }, resolve).once("error", reject)
    })

  /**
   * Follows the output like a client that reads all of it: requests the next page immediately, or waits for more. It leaves the bytes as they
   * came, for the machine has few processors and a client of its own elsewhere would not take them.
   */
  const readPages = async (operationId: string) => {
    let offset = 0
    while (true) {
      const answer = await ask(operationId, `?stream=stdout&offset=${offset}&limit=262144`)
      const pieces: Array<Buffer> = []
      for await (const piece of answer) pieces.push(piece)
      const head = pieces[0]!.toString("latin1", 0, 512)
      const nextOffset = Number(/"nextOffset":(\d+)/.exec(head)![1])
      if (head.includes('"eof":true')) return nextOffset
      if (nextOffset === offset) {
        await service.call("POST", `/sandboxes/${sandboxId}/operations/${operationId}/wait`, {
          stdoutOffset: offset,
          timeoutSeconds: 1
        })
      }
      offset = nextOffset
    }
  }

  /** Follows the output as server-sent events, and looks at the last bytes only. */
  const readEvents = async (operationId: string) => {
    let last: Buffer = Buffer.alloc(0)
    for await (const piece of await ask(operationId, "/stream"))
      last = piece.length >= 4096 ? piece : Buffer.concat([last.subarray(-4096), piece])
    return Number(/id: (\d+)-0\nevent: operation/.exec(last.toString("latin1"))![1])
  }
  return { none: null, pages: readPages, events: readEvents }
}

const logBytesOf = async (database: BenchPostgres) => {
  const [row] = await database.rows<{ readonly at: number }>(
    "select (pg_current_wal_insert_lsn() - '0/0')::float8 as at"
  )
  return row!.at
}

const measure = async (service: BenchService, database: BenchPostgres) => {
  const workspace = await service.workspace()
  let id = ""
  const shell = (script: string) =>
    service.call("POST", `/sandboxes/${id}/execute`, { argv: ["sh", "-c", script], timeoutSeconds: 300 })
  const operate = async (argv: ReadonlyArray<string>) => {
    const { operation } = await service.call<{ operation: { id: string } }>("POST", `/sandboxes/${id}/operations`, {
      argv
    })
    return operation.id
  }

  const isCompleted = async (operationId: string, timeoutSeconds: number) => {
    const { operation } = await service.call<{ operation: { status: string } }>(
      "POST",
      `/sandboxes/${id}/operations/${operationId}/wait`,
      { timeoutSeconds }
    )
    return operation.status === "completed"
  }

  const table = []
  for (let round = 0; round < rounds; round++) {
    id = await service.sandbox(workspace)
    await shell(`head -c ${megabytes * 1_000_000} /dev/urandom > big`)
    for (const [reader, read] of Object.entries(readersOf(service, id))) {
      const before = await service.residentBytes()
      let peak = before
      const look = async () => {
        peak = Math.max(peak, await service.residentBytes())
      }
      const watching = setInterval(look, 20)
      const cpu = await service.cpuSeconds()
      const databaseCpu = await database.cpuSeconds()
      const logged = await logBytesOf(database)
      const start = performance.now()
      const operationId = await operate(["cat", "big"])
      const reading = read?.(operationId) ?? null
      while (!(await isCompleted(operationId, 30))) {}
      const stored = performance.now()
      const arrived = (await reading) ?? megabytes * 1_000_000
      const finished = performance.now()
      const cpuUsed = (await service.cpuSeconds()) - cpu
      const databaseCpuUsed = (await database.cpuSeconds()) - databaseCpu
      const loggedBytes = (await logBytesOf(database)) - logged
      clearInterval(watching)
      if (arrived !== megabytes * 1_000_000) throw new Error(`${arrived} bytes arrived`)
      table.push({
        round,
        reader,
        "stored MB/s": Math.round(megabytes / ((stored - start) / 1000)),
        "read through MB/s": reading === null ? Number.NaN : Math.round(megabytes / ((finished - start) / 1000)),
        "service CPU ms a MB": Number(((cpuUsed * 1000) / megabytes).toFixed(1)),
        "database CPU ms a MB": Number(((databaseCpuUsed * 1000) / megabytes).toFixed(1)),
        "log bytes a byte": Number((loggedBytes / 1e6 / megabytes).toFixed(3)),
        "memory before MB": Math.round(before / 1e6),
        "memory peak MB": Math.round(peak / 1e6)
      })
    }
  }
  console.table(table)
  // As pages and as events alike. The first round runs code that is not compiled yet.
  headlines(
    table.filter(({ round, reader }) => round > 0 && reader !== "none"),
    figures
  )
}

await withPostgres((database) => {
  const sources = process.env["BENCH_SOURCES"]
  return BenchService.use(
    {
      ATOLL_RUNTIME: "namespace",
      ATOLL_OUTPUT_RETENTION_BYTES: String(1024 ** 3),
      ATOLL_OUTPUT_BURST_BYTES: String(1024 ** 3),
      ATOLL_LOG_BYTES_PER_SANDBOX: String(1024 ** 3),
      DATABASE_URL: database.url
    },
    (service) => measure(service, database),
    sources === undefined ? {} : { sources }
  )
})
