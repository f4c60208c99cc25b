/** The log of a Sandbox: its newest lines, live if the filter has no end, and older ones on demand. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import type { SandboxLogs } from "../../../../../schemas/Logs.ts"
import { ApiFault, get, queryOf } from "../../api.ts"
import { type FeedState, follow } from "../../feed.ts"
import { type Line, linesMax, withNewer, withOlder } from "./lines.ts"

/** Empty: any. */
export interface LogFilter {
  readonly stream: string
  readonly source: string
  readonly operationId: string
  /** Instants, or empty. */
  readonly since: string
  readonly until: string
}

export interface ShownLog {
  /** Null before the first answer. */
  readonly lines: ReadonlyArray<Line> | null
  readonly hasOlder: boolean
  /** Null: not live. */
  readonly feed: FeedState | null
  /** Epoch milliseconds of the last answer. */
  readonly at: number | null
  readonly fault: unknown
  readonly isLoadingOlder: boolean
}

const pageEntries = 1000

const nothing: ShownLog = { lines: null, hasOlder: false, feed: null, at: null, fault: null, isLoadingOlder: false }

/** Errors except lost connections, which the feed's state shows. */
const refusalIn = (feed: FeedState): unknown =>
  feed.state === "lost" && feed.fault instanceof ApiFault && feed.fault.status !== null ? feed.fault : null

export const useLog = (sandboxId: string, filter: LogFilter) => {
  const path = `/api/v2/sandboxes/${sandboxId}/logs`
  const { until, ...rest } = filter
  const isFollowed = until === ""
  /** The log depends on the filter. */
  const key = queryOf({ ...filter })
  const [shown, setShown] = useState<ShownLog>(nothing)
  const [turn, setTurn] = useState(0)
  const current = useRef<AbortController | null>(null)

  useEffect(() => {
    const abort = new AbortController()
    current.current = abort
    const change = (changed: (before: ShownLog) => Partial<ShownLog>) => {
      if (!abort.signal.aborted) setShown((before) => ({ ...before, ...changed(before) }))
    }
    const take = ({ entries, truncated }: SandboxLogs) =>
      change(({ lines, hasOlder }) => {
        const held = withNewer(lines ?? [], entries)
        return { lines: held.lines, hasOlder: hasOlder || truncated || held.isCut, at: Date.now(), fault: null }
      })
    setShown(isFollowed ? { ...nothing, feed: { state: "connecting" } } : nothing)
    if (isFollowed) {
      void follow(
        `${path}/stream`,
        {
          began: () => change(() => ({ lines: null, hasOlder: false })),
          event: (data) => take(data as SandboxLogs),
          changed: (feed) => change(() => ({ feed, fault: refusalIn(feed) }))
        },
        abort.signal,
        (position) => queryOf({ ...rest, limit: pageEntries, after: position })
      )
    } else {
      get<{ readonly logs: SandboxLogs }>(`${path}${queryOf({ ...filter, limit: pageEntries })}`, abort.signal).then(
        ({ logs }) => take(logs),
        (fault: unknown) => change(() => ({ fault }))
      )
    }
    return () => abort.abort()
  }, [path, key, turn])

  const oldest = shown.lines?.[0]
  const older = useCallback(async () => {
    const abort = current.current
    if (oldest === undefined || abort === null) return
    setShown((before) => ({ ...before, isLoadingOlder: true, fault: null }))
    try {
      // The oldest line's millisecond may have more entries.
      const before = new Date(Date.parse(oldest.entry.at) + 1).toISOString()
      const { logs } = await get<{ readonly logs: SandboxLogs }>(
        `${path}${queryOf({ ...rest, until: before, limit: pageEntries })}`,
        abort.signal
      )
      setShown((now) => {
        const lines = withOlder(now.lines ?? [], logs.entries)
        return {
          ...now,
          lines,
          hasOlder: logs.truncated && lines.length > (now.lines?.length ?? 0),
          isLoadingOlder: false
        }
      })
    } catch (fault) {
      if (!abort.signal.aborted) setShown((now) => ({ ...now, fault, isLoadingOlder: false }))
    }
  }, [path, key, oldest])

  const reload = useCallback(() => setTurn((before) => before + 1), [])
  return { ...shown, older, reload, isFull: (shown.lines?.length ?? 0) >= linesMax }
}
