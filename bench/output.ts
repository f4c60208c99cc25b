/**
 * One `cat` of 100 MB as an operation, alone and with a client that reads it as it comes: MB/s into the store, and the
 * service's memory, which must stay flat. Both fit into the burst that a Sandbox may write at full speed, so each round
 * has a new Sandbox. The first round, of a service that runs uncompiled code, is shown as well.
 */
import { BenchService } from "./BenchService.ts"

const megabytes = 100
await BenchService.use(
  {
    ATOLL_RUNTIME: "namespace",
    ATOLL_OUTPUT_RETENTION_BYTES: String(1024 ** 3)
  },
  async (service) => {
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

    /** Follows the output like a client that reads all of it: requests the next page immediately, or waits for more. */
    const readAll = async (operationId: string, onPage: () => Promise<void>) => {
      let offset = 0
      while (true) {
        const page = await service.call<{ nextOffset: number; eof: boolean }>(
          "GET",
          `/sandboxes/${id}/operations/${operationId}/output?stream=stdout&offset=${offset}&limit=262144`
        )
        await onPage()
        if (page.nextOffset === offset && !page.eof) {
          await service.call("POST", `/sandboxes/${id}/operations/${operationId}/wait`, {
            stdoutOffset: offset,
            timeoutSeconds: 1
          })
        }
        offset = page.nextOffset
        if (page.eof) return offset
      }
    }

    const table = []
    for (let round = 0; round < 5; round++) {
      id = await service.sandbox(workspace)
      await shell(`head -c ${megabytes * 1_000_000} /dev/urandom > big`)
      for (const reader of ["none", "follows"]) {
        const before = await service.residentBytes()
        let peak = before
        const look = async () => {
          peak = Math.max(peak, await service.residentBytes())
        }
        const watching = setInterval(look, 20)
        const cpu = await service.cpuSeconds()
        const start = performance.now()
        const operationId = await operate(["cat", "big"])
        const reading = reader === "follows" ? readAll(operationId, look) : null
        while (!(await isCompleted(operationId, 30))) {}
        const stored = performance.now()
        const cpuStored = (await service.cpuSeconds()) - cpu
        const arrived = (await reading) ?? megabytes * 1_000_000
        const read = performance.now()
        clearInterval(watching)
        if (arrived !== megabytes * 1_000_000) throw new Error(`${arrived} bytes arrived`)
        table.push({
          round,
          reader,
          "stored MB/s": Math.round(megabytes / ((stored - start) / 1000)),
          "read through MB/s": reading === null ? null : Math.round(megabytes / ((read - start) / 1000)),
          "service CPU ms a MB stored": Number(((cpuStored * 1000) / megabytes).toFixed(1)),
          "memory before MB": Math.round(before / 1e6),
          "memory peak MB": Math.round(peak / 1e6)
        })
      }
    }
    console.table(table)
  }
)
