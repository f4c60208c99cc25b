/** The operations of a Sandbox, newest first, and of each the newest state that anybody has told this page of. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks"
import type { Operation, OperationList, OperationResponse } from "../../../../../schemas/Operation.ts"
import { get, queryOf } from "../../api.ts"
import { type Page, usePages } from "../../paged.ts"
import { useFeed } from "../../useFeed.ts"

const pageRows = 50

/** What happens within such a time is asked for together. */
const gatherMs = 100
/** More operations than these at once are told by a load of the list. */
const lookAtMost = 20

interface StreamedTransition {
  readonly kind: string
  readonly actorId: string
}

const steps: Readonly<Record<Operation["status"], number>> = {
  queued: 0,
  running: 1,
  completed: 2,
  cancelled: 2,
  failed: 2
}

/** A result stands for ever; only what is left of the processes settles after it. */
const ageOf = ({ status, processTree }: Operation): number => 2 * steps[status] + (processTree === "running" ? 0 : 1)

const newer = (one: Operation, other: Operation | undefined): Operation =>
  other !== undefined && ageOf(other) > ageOf(one) ? other : one

const byAge = (one: Operation, other: Operation): number =>
  Date.parse(other.createdAt) - Date.parse(one.createdAt) || (one.id < other.id ? 1 : -1)

export const useOperations = (sandboxId: string) => {
  const path = `/api/v2/sandboxes/${sandboxId}/operations`
  const load = useCallback(
    async (cursor: string | null, signal?: AbortSignal): Promise<Page<Operation>> => {
      const page = await get<OperationList>(`${path}${queryOf({ limit: pageRows, cursor })}`, signal)
      return { entries: page.operations, nextCursor: page.nextCursor }
    },
    [path]
  )
  const listed = usePages(path, load)
  const [told, setTold] = useState<ReadonlyMap<string, Operation>>(new Map())
  useEffect(() => setTold(new Map()), [path])

  const tell = useCallback(
    (operation: Operation) =>
      setTold((before) => new Map(before).set(operation.id, newer(operation, before.get(operation.id)))),
    []
  )

  const { entries, more } = listed
  const operations = useMemo(() => {
    const ids = new Set(entries.map(({ id }) => id))
    const oldest = entries.at(-1)
    // One that is older than what was loaded belongs to a page that was not.
    const made = [...told.values()].filter(
      (one) => !ids.has(one.id) && (more === null || oldest === undefined || byAge(one, oldest) < 0)
    )
    return [...made, ...entries.map((one) => newer(one, told.get(one.id)))].toSorted(byAge)
  }, [entries, more, told])

  const waiting = useRef(new Set<string>())
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null)
  useEffect(() => () => clearTimeout(timer.current ?? undefined), [])

  const { reload } = listed
  const lookAtWaiting = useCallback(() => {
    const ids = [...waiting.current]
    waiting.current.clear()
    if (ids.length > lookAtMost) {
      timer.current = null
      return reload()
    }
    const look = async (id: string) => tell((await get<OperationResponse>(`${path}/${id}`)).operation)
    void Promise.allSettled(ids.map(look)).then((answers) => {
      timer.current = waiting.current.size > 0 ? setTimeout(lookAtWaiting, gatherMs) : null
      if (answers.some(({ status }) => status === "rejected")) reload()
    })
  }, [path, tell, reload])

  const feed = useFeed(`/api/v2/sandboxes/${sandboxId}/events`, {
    // Whatever happened before the stream began is in the list that is asked for now.
    began: reload,
    event: (data) => {
      const { kind, actorId } = data as StreamedTransition
      if (kind !== "operation") return
      waiting.current.add(actorId)
      timer.current ??= setTimeout(lookAtWaiting, gatherMs)
    }
  })

  return { listed, operations, told, tell, feed }
}
