/**
 * Snapshots with memory of a virtual machine with 512 MiB, over HTTP: how long the source stands still; a fork, from its request to the first command that
 * ended in the child; and ten children of one fork, until each has ended a command. Uses KVM where it works. `BENCH_RUNS` sets how often (default 7).
 * Needs `npm run vm:image`.
 */
import { BenchService } from "./BenchService.ts"
import { headline } from "./Headline.ts"
import { inRounds } from "./Rounds.ts"
import { timesRow } from "./TimesRow.ts"

const MiB = 1024 ** 2
const runs = Number(process.env["BENCH_RUNS"] ?? 7)
const together = 10
const togetherRuns = 3

const environment = {
  ATOLL_RUNTIME: "qemu",
  ATOLL_VM_SPARES: "0",
  ATOLL_SANDBOX_VCPUS: "1",
  ATOLL_SANDBOX_MEMORY_BYTES: String(512 * MiB),
  ATOLL_VOLUME_BYTES: String(256 * MiB),
  ATOLL_SANDBOXES_PER_ACCOUNT: "50",
  ATOLL_SNAPSHOTS_PER_ACCOUNT: "50",
  ATOLL_WORKSPACE_STORAGE_BYTES: String(1024 ** 4)
}

interface Forked {
  readonly snapshot: { readonly id: string; readonly pausedMs: number | null }
  readonly sandboxes: ReadonlyArray<{ readonly id: string }>
}

/** The service waits for a Sandbox that boots, on a busy machine for too short a time. */
const executed = async (service: BenchService, id: string, argv: ReadonlyArray<string>): Promise<void> => {
  while (true) {
    try {
      return void (await service.call("POST", `/sandboxes/${id}/execute`, { argv }))
    } catch (cause) {
      if (!String(cause).includes('"status":"pending"')) throw cause
    }
  }
}

const ms = { unit: "ms", better: "lower" } as const

await BenchService.use(environment, async (service) => {
  const workspaceId = await service.workspace()
  const run = (id: string, argv: ReadonlyArray<string>) => executed(service, id, argv)
  const source = await service.sandbox(workspaceId)
  // Its programs and files: some of the memory is in use.
  await run(source, ["sh", "-c", "head -c 100000000 /dev/urandom > /dev/shm/used; sleep 100000 > /dev/null 2>&1 &"])

  /** Of each child: when its first command had ended. */
  const fork = async (count: number) => {
    const began = performance.now()
    const { snapshot, sandboxes } = await service.call<Forked>("POST", `/sandboxes/${source}/fork`, {
      count,
      memory: true
    })
    const ids = sandboxes.map(({ id }) => id)
    const took = await Promise.all(
      ids.map(async (id) => {
        await run(id, ["true"])
        return performance.now() - began
      })
    )
    const made = await service.call<Forked>("GET", `/snapshots/${snapshot.id}`)
    return { took, pausedMs: made.snapshot.pausedMs ?? Number.NaN, ids, snapshotId: snapshot.id }
  }
  const remove = async ({ ids, snapshotId }: Awaited<ReturnType<typeof fork>>) => {
    await Promise.all(ids.map((id) => service.call("DELETE", `/sandboxes/${id}`)))
    await service.call("DELETE", `/snapshots/${snapshotId}`)
  }
  /** A further Sandbox from a snapshot that is there: when its first command had ended. */
  const again = async (snapshotId: string) => {
    const began = performance.now()
    const id = await service.sandbox(workspaceId, { snapshotId })
    await run(id, ["true"])
    const took = performance.now() - began
    await service.call("DELETE", `/sandboxes/${id}`)
    return took
  }

  const [paused, one, later, last]: [Array<number>, Array<number>, Array<number>, Array<number>] = [[], [], [], []]
  for (let round = 0; round <= runs; round++) {
    const forked = await fork(1)
    const laterMs = await again(forked.snapshotId)
    // The first compiles what the others run.
    if (round > 0) {
      paused.push(forked.pausedMs)
      one.push(...forked.took)
      later.push(laterMs)
    }
    await remove(forked)
  }
  for (let round = 0; round < togetherRuns; round++) {
    const forked = await fork(together)
    last.push(Math.max(...forked.took))
    await remove(forked)
  }
  console.table([
    timesRow("the source stands still", paused),
    timesRow("fork of one to its first command ended", one),
    timesRow("create from a snapshot that is there to first command ended", later),
    timesRow(`the last of ${together} of one fork`, last)
  ])
  const of = "VM with memory of 512 MiB"
  headline({ ...ms, name: `${of}: pause of the source`, values: inRounds(paused), aim: { value: 300 } })
  headline({ ...ms, name: `${of}: fork of one → first command ended`, values: inRounds(one), aim: { value: 700 } })
  headline({ ...ms, name: `${of}: create from a snapshot → first command ended`, values: inRounds(later) })
  headline({
    ...ms,
    name: `${of}: fork of ten → the last first command ended`,
    values: last,
    aim: { value: 5000 }
  })
})
