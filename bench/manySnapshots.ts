/**
 * 500 snapshots on one host (as root, on namespaces), over HTTP: how long each takes, a page of the list, the start of the service after `kill -9`, and
 * the removal of all. The source is small: what is measured is the service, not the disk. `BENCH_SNAPSHOTS` sets how many.
 */
import { BenchService, quantile, timed } from "./BenchService.ts"
import { headline } from "./Headline.ts"
import { inRounds } from "./Rounds.ts"

const count = Number(process.env["BENCH_SNAPSHOTS"] ?? 500)
const together = 4

const environment = {
  ATOLL_RUNTIME: "namespace",
  ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2),
  ATOLL_SNAPSHOTS_PER_ACCOUNT: String(count)
}

interface One {
  readonly snapshot: { readonly id: string; readonly status: string }
}

await BenchService.use(environment, async (service) => {
  const source = await service.sandbox(await service.workspace())
  const until = async (id: string, wanted: string) => {
    while (true) {
      const { snapshot } = await service.call<One>("GET", `/snapshots/${id}`)
      if (snapshot.status === wanted) return
      if (snapshot.status === "failed") throw new Error(JSON.stringify(snapshot))
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  const taken = async () => {
    const { snapshot } = await service.call<One>("POST", `/sandboxes/${source}/snapshots`, {})
    await until(snapshot.id, "ready")
    return snapshot.id
  }
  const ids: Array<string> = []
  const took = await timed(count, async () => void ids.push(await taken()))
  const pages = await timed(50, () => service.call("GET", "/snapshots?limit=100"))
  await service.kill()
  const started = await service.startAgain()
  const again = await timed(50, () => service.call("GET", "/snapshots?limit=100"))
  const left = [...ids]
  const began = performance.now()
  await Promise.all(
    Array.from({ length: together }, async () => {
      for (let id = left.pop(); id !== undefined; id = left.pop()) {
        await service.call("DELETE", `/snapshots/${id}`)
        await until(id, "deleted")
      }
    })
  )
  const removed = performance.now() - began
  const row = (what: string, ms: number) => ({ what, ms: Number(ms.toFixed(1)) })
  console.table([
    row(`one of ${count} snapshots, p50`, quantile(took, 0.5)),
    row("one of the last tenth, p50", quantile(took.slice(-count / 10), 0.5)),
    row("a page of 100, p50", quantile([...pages, ...again], 0.5)),
    row("from the start after kill -9 to the first answer", started),
    row("to delete all", removed)
  ])
  const ms = { unit: "ms", better: "lower" } as const
  headline({ ...ms, name: `one of ${count} snapshots over HTTP`, values: inRounds(took) })
  headline({ ...ms, name: `a page of 100 of ${count} snapshots`, values: inRounds(pages) })
  headline({ ...ms, name: `start after kill -9 with ${count} snapshots → first answer`, values: [started] })
  headline({ ...ms, name: `to delete ${count} snapshots`, values: [removed] })
})
