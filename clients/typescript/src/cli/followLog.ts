/** The log of a Sandbox as it is written, over lost connections: each entry once. */
import type { LogSource, OutputStream, SandboxLogs } from "../generated/schemas.ts"
import { resumed } from "../http/resumed.ts"
import type { Transport } from "../http/Transport.ts"

export interface LogFilter {
  /** RFC 3339. */
  readonly since?: string | undefined
  readonly stream?: OutputStream | undefined
  readonly source?: LogSource | undefined
  readonly operationId?: string | undefined
  readonly limit?: number | undefined
}

/** After a lost connection the last seconds are sent again: so many of their ids are remembered. */
const rememberedIds = 20_000

export async function* followLog(
  transport: Transport,
  sandboxId: string,
  filter: LogFilter
): AsyncGenerator<SandboxLogs, void, undefined> {
  const seen = new Set<string>()
  let position: string | undefined
  const open = (signal: AbortSignal) =>
    transport.open("streamLogs", { parameters: { id: sandboxId, ...filter, after: position }, signal })
  for await (const { id, event, data } of resumed(open, undefined)) {
    if (id !== "") position = id
    if (event !== "log") continue
    const { entries, truncated } = JSON.parse(data) as SandboxLogs
    const fresh = entries.filter((entry) => !seen.has(entry.id))
    for (const entry of fresh) seen.add(entry.id)
    for (const old of seen) {
      if (seen.size <= rememberedIds) break
      seen.delete(old)
    }
    yield { entries: fresh, truncated }
  }
}
