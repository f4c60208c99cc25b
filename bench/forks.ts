/**
 * Forks over HTTP, on namespaces (as root), of a Sandbox that has written 1 GiB: one to the first command that ended in the child, with a spare at hand;
 * twenty children of one fork, until each has ended a command; and what forks that have changed 10 MiB each occupy.
 * `BENCH_WRITTEN_MIB` sets how much the source has written, `BENCH_FORKS` the forks of the last part (default 100).
 */
import { statfs } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { BenchService } from "./BenchService.ts"
import { headline } from "./Headline.ts"
import { inRounds } from "./Rounds.ts"
import { timesRow } from "./TimesRow.ts"

const MiB = 1024 ** 2
const writtenMiB = Number(process.env["BENCH_WRITTEN_MIB"] ?? 1024)
const forks = Number(process.env["BENCH_FORKS"] ?? 100)
const changedMiB = 10
/** Time in which the spares are made again. */
const REST_MS = 2_000
/** The first request after a rest takes a virtual processor 10 to 30 ms, also that of a bare node:http. */
const WAKING_REQUESTS = 3

/** The host's disk is promised to each volume in full, so many forks need small ones. */
const smallMiB = 128

const environment = (baseMiB: number) => ({
  ATOLL_RUNTIME: "namespace",
  ATOLL_VOLUME_BYTES: String(1.5 * baseMiB * MiB),
  ATOLL_SANDBOX_MEMORY_BYTES: String(256 * MiB),
  ATOLL_SANDBOXES_PER_ACCOUNT: "200",
  ATOLL_WORKSPACE_STORAGE_BYTES: String(1024 ** 4),
  ATOLL_SNAPSHOTS_PER_ACCOUNT: "1000",
  ATOLL_SPARES_MAX: "20"
})

interface Forked {
  readonly snapshot: { readonly id: string }
  readonly sandboxes: ReadonlyArray<{ readonly id: string }>
}

const forker = async (service: BenchService, baseMiB: number) => {
  const run = (id: string, argv: ReadonlyArray<string>) => service.call("POST", `/sandboxes/${id}/execute`, { argv })
  const source = await service.sandbox(await service.workspace())
  await run(source, ["sh", "-c", `head -c ${baseMiB * MiB} /dev/urandom > /workspace/base; sync`])
  return {
    awake: async () => {
      for (let i = 0; i < WAKING_REQUESTS; i++) await service.call("GET", `/sandboxes/${source}`)
    },
    /** Of each child: when its first command had ended. */
    fork: async (count: number, argv: ReadonlyArray<string> = ["true"]) => {
      const began = performance.now()
      const { snapshot, sandboxes } = await service.call<Forked>("POST", `/sandboxes/${source}/fork`, { count })
      const ids = sandboxes.map(({ id }) => id)
      const took = await Promise.all(
        ids.map(async (id) => {
          await run(id, argv)
          return performance.now() - began
        })
      )
      const remove = async () => {
        await Promise.all(ids.map((id) => service.call("DELETE", `/sandboxes/${id}`)))
        await service.call("DELETE", `/snapshots/${snapshot.id}`)
      }
      return { took, remove }
    }
  }
}

const ms = { unit: "ms", better: "lower" } as const

await BenchService.use(environment(writtenMiB), async (service) => {
  const { awake, fork } = await forker(service, writtenMiB)
  const one: Array<number> = []
  for (let round = 0; round < 20; round++) {
    await sleep(REST_MS)
    await awake()
    const { took, remove } = await fork(1)
    // The first compile what the others run.
    if (round >= 5) one.push(...took)
    await remove()
  }
  // They raise the number of spares to what is created together.
  await (await fork(20)).remove()
  const last: Array<number> = []
  for (let round = 0; round < 3; round++) {
    await sleep(10 * REST_MS)
    const { took, remove } = await fork(20)
    last.push(Math.max(...took))
    await remove()
  }
  console.table([timesRow("fork of one to its first command ended", one), timesRow("the last of twenty", last)])
  headline({
    ...ms,
    name: "fork of one → first command ended, spare at hand",
    values: inRounds(one),
    aim: { value: 60 }
  })
  headline({ ...ms, name: "fork of twenty → the last first command ended", values: last, aim: { value: 1000 } })
})

await BenchService.use({ ...environment(smallMiB), ATOLL_SPARES: "0" }, async (service) => {
  const { fork } = await forker(service, smallMiB)
  const folder = join(service.databaseSocketFolder, "../../runtime/namespace")
  const usedBytes = async () => {
    const { bsize, blocks, bfree } = await statfs(folder)
    return (blocks - bfree) * bsize
  }
  const base = await usedBytes()
  const script = `head -c ${changedMiB * MiB} /dev/urandom | dd of=/workspace/base conv=notrunc,fsync bs=1M 2>/dev/null`
  const { remove } = await fork(forks, ["sh", "-c", script])
  const stored = ((await usedBytes()) - base) / 1024 ** 3
  await remove()
  const name = `${forks} forks that change ${changedMiB} MiB each, stored over the base`
  console.log(`${name}: ${stored.toFixed(2)} GiB`)
  headline({ name, unit: "GiB", better: "lower", values: [stored], aim: { value: 1.2 } })
})
