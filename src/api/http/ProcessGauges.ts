/** Metrics of this process, with the names of Prometheus's own clients, and its version of Atoll. */
import { readdirSync, readFileSync } from "node:fs"
import { performance } from "node:perf_hooks"
import { Effect, Layer, Metric } from "effect"
import { measuredCounter, measuredGauge } from "../../platform/metric/measured.ts"
import { Runtime } from "../../runtime/Runtime.ts"
import { serviceVersion } from "./serviceVersion.ts"

const build = (runtime: string) =>
  Metric.gauge("atoll_build_info", {
    description: "Always 1: the version of Atoll and of Node, and the runtime driver.",
    attributes: { version: serviceVersion, node: process.versions.node, runtime }
  })

const cpu = Metric.counter("process_cpu_seconds_total", {
  description: "CPU time of this process, of user and system together.",
  incremental: true
})

const memory = Metric.gauge("process_resident_memory_bytes", { description: "Resident memory of this process." })

const startTime = Metric.gauge("process_start_time_seconds", {
  description: "When this process began, in seconds since 1970."
})

const openFiles = Metric.gauge("process_open_fds", { description: "Open file descriptors of this process." })

const mostFiles = Metric.gauge("process_max_fds", { description: "File descriptors that this process may open." })

const heap = Metric.gauge("nodejs_heap_size_used_bytes", { description: "Used heap of this process." })

const loopActive = Metric.counter("nodejs_eventloop_active_seconds_total", {
  description: "Time in which the event loop was busy: its rate is the load of this process's one thread, from 0 to 1.",
  incremental: true
})

/** Counts them without opening one. NaN if this is not Linux. */
const countOpenFiles = (): number => {
  try {
    return readdirSync("/proc/self/fd").length
  } catch {
    return Number.NaN
  }
}

const findMostFiles = (): number => {
  try {
    return Number(/^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1])
  } catch {
    return Number.NaN
  }
}

export const ProcessGauges = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { driver } = yield* Runtime
      const began = performance.timeOrigin / 1000
      const most = findMostFiles()
      yield* measuredGauge(build(driver), () => 1)
      yield* measuredCounter(cpu, () => {
        const { user, system } = process.cpuUsage()
        return (user + system) / 1e6
      })
      yield* measuredGauge(memory, () => process.memoryUsage.rss())
      yield* measuredGauge(startTime, () => began)
      yield* measuredGauge(openFiles, countOpenFiles)
      yield* measuredGauge(mostFiles, () => most)
      yield* measuredGauge(heap, () => process.memoryUsage().heapUsed)
      yield* measuredCounter(loopActive, () => performance.eventLoopUtilization().active / 1000)
    })
  )
}
