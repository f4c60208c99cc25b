/** One `cat` of 100 MB as an operation, read by a client as it comes: MB/s into the store and the service's memory, which must stay flat. */
import { BenchService } from "./BenchService.ts"

const megabytes = 100
await BenchService.use(
  {
    ATOLL_RUNTIME: "namespace",
    ATOLL_OUTPUT_RETENTION_BYTES: String(1024 ** 3)
  },
  async (service) => {
    const id = await service.sandbox(await service.workspace())
    const shell = (script: string) =>
      service.call("POST", `/sandboxes/${id}/execute`, { argv: ["sh", "-c", script], timeoutSeconds: 300 })
    await shell(`head -c ${megabytes * 1_000_000} /dev/urandom > big`)

    const operate = async (argv: ReadonlyArray<string>) => {
      const { operation } = await service.call<{ operation: { id: string } }>("POST", `/sandboxes/${id}/operations`, {
        argv
      })
      return operation.id
    }

    const table = []
    for (let round = 0; round < 3; round++) {
      const before = await service.residentBytes()
      let peak = before
      const start = performance.now()
      const operationId = await operate(["cat", "big"])
      let offset = 0
      let storedAt = 0
      while (true) {
        const chunk = await service.call<{ nextOffset: number; eof: boolean }>(
          "GET",
          `/sandboxes/${id}/operations/${operationId}/output?stream=stdout&offset=${offset}&limit=262144`
        )
        const isWaiting = chunk.nextOffset === offset
        offset = chunk.nextOffset
        if (chunk.eof) break
        if (isWaiting) {
          await service.call("POST", `/sandboxes/${id}/operations/${operationId}/wait`, {
            stdoutOffset: offset,
            timeoutSeconds: 1
          })
        }
        if (storedAt === 0) {
          const { operation } = await service.call<{ operation: { status: string } }>(
            "GET",
            `/sandboxes/${id}/operations/${operationId}`
          )
          if (operation.status === "completed") storedAt = performance.now()
        }
        peak = Math.max(peak, await service.residentBytes())
      }
      const read = performance.now()
      if (offset !== megabytes * 1_000_000) throw new Error(`${offset} bytes arrived`)
      table.push({
        "stored MB/s": Math.round(megabytes / (((storedAt || read) - start) / 1000)),
        "read through MB/s": Math.round(megabytes / ((read - start) / 1000)),
        "memory before MB": Math.round(before / 1e6),
        "memory peak MB": Math.round(peak / 1e6)
      })
    }
    console.table(table)
  }
)
