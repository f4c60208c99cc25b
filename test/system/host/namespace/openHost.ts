/** The namespace driver alone, for programs that tests start and kill. */
import { setTimeout as sleep } from "node:timers/promises"
import { Effect } from "effect"
import { NamespaceHost } from "../../../../src/host/namespace/NamespaceHost.ts"

export const openHost = (dataDir: string, spares = 0): Promise<NamespaceHost> =>
  NamespaceHost.open({
    dataDir,
    processesMax: 256,
    parallelStarts: 2,
    diskReserveBytes: 0,
    spares,
    run: Effect.runPromise
  })

/** Resolves when a spare that was not there `before` has been booted. */
export const untilSpare = async ({ layout }: NamespaceHost, before: ReadonlyArray<string> = []): Promise<void> => {
  const isReady = (name: string) => !before.includes(name) && layout.state(name).runtime()?.init
  while (!layout.spareNames().some(isReady)) await sleep(10)
}
