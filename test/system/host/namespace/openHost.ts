/** The namespace driver alone, for programs that tests start and kill. */
import { Effect } from "effect"
import { NamespaceHost } from "../../../../src/host/namespace/NamespaceHost.ts"

export const openHost = (dataDir: string): Promise<NamespaceHost> =>
  NamespaceHost.open({ dataDir, processesMax: 256, parallelStarts: 2, diskReserveBytes: 0, run: Effect.runPromise })
