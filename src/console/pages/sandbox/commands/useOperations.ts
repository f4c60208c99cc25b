/** The operations of a Sandbox, newest first, each in the newest state that this page knows. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks"
import type { Operation, OperationList, OperationResponse } from "../../../../../schemas/Operation.ts"
import { get, queryOf } from "../../api.ts"
import { type Page, usePages } from "../../paged.ts"
import { isOpenOperation } from "../../states.ts"
import { useEvery } from "../../useEvery.ts"
import { useFeed } from "../../useFeed.ts"

const pageRows = 50

/** Changes within this time are loaded together. */
const gatherMs = 100
/** Changes to more operations than this load a list, which has the newest. */
const lookAtMost = 20
const burstRows = 200
/** A failed load is retried so often, each time after twice the delay; reloading the list would lose its further pages. */
const looksAgain = 4

/** The output of running commands is measured so often. */
const growsEveryMs = 2000

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

/** A result is final; after it only the process tree may still change. */
const ageOf = ({ status, processTree }: Operation): number => 2 * steps[status] + (processTree === "running" ? 0 : 1)

/** Output only grows. */
const writtenBy = ({ output: { stdoutBytes, stderrBytes } }: Operation): number => stdoutBytes + stderrBytes

const newer = (one: Operation, other: Operation | undefined): Operation =>
  other !== undefined && (ageOf(other) - ageOf(one) || writtenBy(other) - writtenBy(one)) > 0 ? other : one

const byAge = (one: Operation, other: Operation): number =>
  Date.parse(other.createdAt) - Date.parse(one.createdAt) || (one.id < other.id ? 1 : -1)

/** Measures the output of running commands: the stream tells no sizes. */
const useGrowth = (
  operations: ReadonlyArray<Operation>,
  look: (ids: ReadonlyArray<string>) => Promise<unknown>
): void => {
  const growing = operations.filter(({ status }) => isOpenOperation(status)).slice(0, lookAtMost)
  useEvery(growing.length === 0 ? null : growsEveryMs, () => {
    look(growing.map(({ id }) => id)).catch(() => {})
  })
}

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

  const tellAll = useCallback(
    (operations: ReadonlyArray<Operation>) =>
      setTold((before) => {
        const now = new Map(before)
        for (const one of operations) now.set(one.id, newer(one, now.get(one.id)))
        return now
      }),
    []
  )
  const tell = useCallback((operation: Operation) => tellAll([operation]), [tellAll])

  const { entries, more } = listed
  const operations = useMemo(() => {
    const ids = new Set(entries.map(({ id }) => id))
    const oldest = entries.at(-1)
    // An operation older than the loaded ones belongs to a page that is not loaded.
    const made = [...told.values()].filter(
      (one) => !ids.has(one.id) && (more === null || oldest === undefined || byAge(one, oldest) < 0)
    )
    return [...made, ...entries.map((one) => newer(one, told.get(one.id)))].toSorted(byAge)
  }, [entries, more, told])

  const waiting = useRef(new Set<string>())
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null)
  const failed = useRef(0)
  useEffect(() => () => clearTimeout(timer.current ?? undefined), [])

  const { reload } = listed
  const newest = useCallback(
    async () => (await get<OperationList>(`${path}${queryOf({ limit: burstRows })}`)).operations,
    [path]
  )
  /** Loads operations; returns the ids that must be loaded again. */
  const look = useCallback(
    async (ids: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
      const list = ids.length > lookAtMost ? await newest() : []
      const found = new Set(list.map(({ id }) => id))
      const others = ids.filter((id) => !found.has(id))
      const asked = others.slice(0, lookAtMost).map((id) => get<OperationResponse>(`${path}/${id}`))
      tellAll([...list, ...(await Promise.all(asked)).map(({ operation }) => operation)])
      return others.slice(lookAtMost)
    },
    [path, newest, tellAll]
  )
  const lookAtWaiting = useCallback(() => {
    const ids = [...waiting.current]
    waiting.current.clear()
    look(ids)
      .then((left) => {
        failed.current = 0
        for (const id of left) waiting.current.add(id)
      })
      .catch(() => {
        if (++failed.current <= looksAgain) {
          for (const id of ids) waiting.current.add(id)
          return
        }
        failed.current = 0
        // The remaining ones come with the list, which also shows the error.
        reload()
      })
      .finally(() => {
        const pauseMs = gatherMs * 2 ** failed.current
        timer.current = waiting.current.size > 0 ? setTimeout(lookAtWaiting, pauseMs) : null
      })
  }, [look, reload])

  const isFirst = useRef(true)
  const feed = useFeed(`/api/v2/sandboxes/${sandboxId}/events`, {
    began: () => {
      // The list was loaded a moment ago, and further pages may already be shown: only later changes are applied.
      if (isFirst.current) newest().then(tellAll).catch(reload)
      // Missed changes are in the list that is loaded now.
      else reload()
      isFirst.current = false
    },
    event: (data) => {
      const { kind, actorId } = data as StreamedTransition
      if (kind !== "operation") return
      waiting.current.add(actorId)
      timer.current ??= setTimeout(lookAtWaiting, gatherMs)
    }
  })

  useGrowth(operations, look)
  return { listed, operations, told, tell, feed }
}
