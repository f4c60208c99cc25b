/** Gauges of memory and disk of this process's host. They are read when metrics are requested. */
import { readFile, statfs } from "node:fs/promises"
import { totalmem } from "node:os"
import { Context, Effect, Layer, Metric } from "effect"
import { Settings } from "../Config.ts"

/** A lost disk (NFS, FUSE) does not answer. */
const patience = "1 second"

const context = Context.empty()

const memoryTotal = Metric.gauge("atoll_host_memory_total_bytes", { description: "Memory of the host." })

const memoryAvailable = Metric.gauge("atoll_host_memory_available_bytes", {
  description: "Memory of the host that programs could still have."
})

const diskTotal = Metric.gauge("atoll_host_disk_total_bytes", {
  description: "Size of the disk on which ATOLL_DATA_DIR lies."
})

const diskAvailable = Metric.gauge("atoll_host_disk_available_bytes", {
  description: "What is free on the disk on which ATOLL_DATA_DIR lies."
})

const diskReserve = Metric.gauge("atoll_host_disk_reserve_bytes", {
  description: "ATOLL_DISK_RESERVE_BYTES: what stays free on that disk when every volume is full."
})

/** Null on systems other than Linux. */
const availableMemoryBytes = async (): Promise<number | null> => {
  const found = /^MemAvailable:\s+(\d+) kB/m.exec(await readFile("/proc/meminfo", "utf8").catch(() => ""))
  return found === null ? null : Number(found[1]) * 1024
}

export class HostGauges extends Context.Service<
  HostGauges,
  {
    /** Reads them, or keeps the old values if the host does not answer soon. */
    readonly refresh: Effect.Effect<void>
  }
>()("atoll/runtime/HostGauges") {
  static readonly layer = Layer.effect(
    HostGauges,
    Effect.gen(function* () {
      const { dataDir, diskReserveBytes } = yield* Settings
      const read = Effect.tryPromise(async () => {
        memoryTotal.updateUnsafe(totalmem(), context)
        const available = await availableMemoryBytes()
        if (available !== null) memoryAvailable.updateUnsafe(available, context)
        const { bsize, blocks, bavail } = await statfs(dataDir)
        diskTotal.updateUnsafe(blocks * bsize, context)
        diskAvailable.updateUnsafe(bavail * bsize, context)
        diskReserve.updateUnsafe(diskReserveBytes, context)
      })
      return { refresh: read.pipe(Effect.timeout(patience), Effect.ignore) }
    })
  )
}
