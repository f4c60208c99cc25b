/**
 * A client's waiting times: `execute true`, and create until the first command has ended, with a Sandbox started ahead
 * (ATOLL_SPARES) and without, in turns with bare bubblewrap with the same agent; and ten creates at once.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { BareBubblewrap } from "./BareBubblewrap.ts"
import { BenchService, quantile, timed } from "./BenchService.ts"
import { headline } from "./Headline.ts"
import { inRounds } from "./Rounds.ts"

/** Time in which the spares are made again. */
const REST_MS = 1_500

const environment = {
  ATOLL_RUNTIME: process.env["ATOLL_RUNTIME"] ?? "namespace",
  // The host's disk is promised to each volume in full.
  ATOLL_VOLUME_BYTES: String(512 * 1024 ** 2),
  ATOLL_SANDBOXES_PER_ACCOUNT: "100"
}

const row = (what: string, took: ReadonlyArray<number>) => ({
  what,
  "p50 ms": Number(quantile(took, 0.5).toFixed(1)),
  "p99 ms": Number(quantile(took, 0.99).toFixed(1))
})

const execute = (service: BenchService, sandboxId: string) =>
  service.call("POST", `/sandboxes/${sandboxId}/execute`, { argv: ["true"] })

/** A command waits for the boot of its Sandbox. */
const toFirstCommand = async (service: BenchService, workspaceId: string) => {
  const body = { workspaceId, networkEnabled: false }
  const { sandbox } = await service.call<{ sandbox: { id: string } }>("POST", "/sandboxes", body)
  await execute(service, sandbox.id)
}

await BenchService.use(environment, async (service) => {
  const workspaceId = await service.workspace()
  const id = await service.sandbox(workspaceId)
  // A service that has just started runs uncompiled code; one that has served for a while is what clients meet.
  const cold = await timed(100, () => execute(service, id))
  await timed(1000, () => execute(service, id))
  const executes = await timed(500, () => execute(service, id))
  const bare = await BareBubblewrap.prepare()
  const [ahead, alone, bares]: [Array<number>, Array<number>, Array<number>] = [[], [], []]
  const together = await BenchService.use({ ...environment, ATOLL_SPARES: "0" }, async (without) => {
    const workspaceThere = await without.workspace()
    await toFirstCommand(without, workspaceThere)
    for (let index = 0; index < 15; index++) {
      await sleep(REST_MS)
      ahead.push(...(await timed(1, () => toFirstCommand(service, workspaceId))))
      await sleep(REST_MS)
      alone.push(...(await timed(1, () => toFirstCommand(without, workspaceThere))))
      bares.push(...(await timed(1, () => bare.toFirstCommand())))
    }
    await sleep(REST_MS)
    const took: Array<number> = []
    const start = performance.now()
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        await toFirstCommand(service, workspaceId)
        took.push(performance.now() - start)
      })
    )
    return took
  })
  await bare.remove()
  console.table([
    row("execute true over HTTP, the first 100", cold),
    row("execute true over HTTP, after 1,000 more", executes),
    row("create to first command ended, one started ahead", ahead),
    row("create to first command ended, none started ahead", alone),
    row("bare bubblewrap with the same agent to first command ended", bares),
    row("ten creates at once, each to its first command ended", together)
  ])
  const bareP50 = quantile(bares, 0.5)
  console.log(`started ahead / bare bubblewrap, p50: ${(quantile(ahead, 0.5) / bareP50).toFixed(2)}`)
  console.log(`none ahead / bare bubblewrap, p50: ${(quantile(alone, 0.5) / bareP50).toFixed(2)}`)
  const ms = { unit: "ms", better: "lower" } as const
  const other = { name: "bare bubblewrap, same agent", values: inRounds(bares) }
  const create = "create → first command ended"
  headline({ ...ms, name: `${create}, spare at hand`, values: inRounds(ahead), other, aim: { value: 20, ratio: 0.25 } })
  headline({ ...ms, name: `${create}, no spare`, values: inRounds(alone), other, aim: { value: 70 } })
  headline({ ...ms, name: `${create}, last of ten together`, values: [Math.max(...together)], aim: { value: 400 } })
  headline({ ...ms, name: "execute `true` over HTTP, the first 100", values: inRounds(cold), aim: { value: 2 } })
  headline({ ...ms, name: "execute `true` over HTTP", values: inRounds(executes), aim: { value: 2 } })
})
