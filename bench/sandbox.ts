/**
 * A client's waiting times: `execute true`, and create until the first command has ended, alternating with bare
 * bubblewrap with the same agent.
 */
import { BareBubblewrap } from "./BareBubblewrap.ts"
import { BenchService, quantile, timed } from "./BenchService.ts"

await BenchService.use({ ATOLL_RUNTIME: process.env["ATOLL_RUNTIME"] ?? "namespace" }, async (service) => {
  const workspaceId = await service.workspace()
  const row = (name: string, took: ReadonlyArray<number>) => ({
    what: name,
    "p50 ms": Number(quantile(took, 0.5).toFixed(1)),
    "p99 ms": Number(quantile(took, 0.99).toFixed(1))
  })

  const id = await service.sandbox(workspaceId)
  const execute = (sandboxId: string) => service.call("POST", `/sandboxes/${sandboxId}/execute`, { argv: ["true"] })
  // A service that has just started runs uncompiled code; one that has served for a while is what clients meet.
  const cold = await timed(100, () => execute(id))
  await timed(1000, () => execute(id))
  const executes = await timed(500, () => execute(id))
  const bare = await BareBubblewrap.prepare()
  const [creates, bares]: [Array<number>, Array<number>] = [[], []]
  for (let index = 0; index < 15; index++) {
    creates.push(...(await timed(1, async () => execute(await service.sandbox(workspaceId)))))
    bares.push(...(await timed(1, () => bare.toFirstCommand())))
  }
  await bare.remove()
  console.table([
    row("execute true over HTTP, the first 100", cold),
    row("execute true over HTTP, after 1,000 more", executes),
    row("create to first command ended", creates),
    row("bare bubblewrap with the same agent to first command ended", bares)
  ])
  console.log(`create / bare bubblewrap, p50: ${(quantile(creates, 0.5) / quantile(bares, 0.5)).toFixed(2)}`)
})
