/** All Sandboxes of the account, each in the newest state that this page knows. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks"
import type { Sandbox, SandboxList, SandboxResponse } from "../../../../schemas/Sandbox.ts"
import { get, queryOf } from "../api.ts"
import { useLoad } from "../load.ts"
import { useFeed } from "../useFeed.ts"

const pageRows = 1000

/** Changes within this time are loaded together. */
const gatherMs = 100
/** Changes to more Sandboxes than this reload the whole list. */
const lookAtMost = 20

const all = async (signal: AbortSignal): Promise<ReadonlyArray<Sandbox>> => {
  const found: Array<Sandbox> = []
  let cursor: string | null = null
  do {
    const page: SandboxList = await get(`/api/v2/sandboxes${queryOf({ limit: pageRows, cursor })}`, signal)
    found.push(...page.sandboxes)
    cursor = page.nextCursor
  } while (cursor !== null)
  return found
}

interface StreamedTransition {
  readonly kind: string
  readonly sandboxId: string
}

const isNewer = (one: Sandbox, other: Sandbox): boolean => Date.parse(one.updatedAt) >= Date.parse(other.updatedAt)

export const useSandboxes = () => {
  const loaded = useLoad("sandboxes", all)
  const [told, setTold] = useState<ReadonlyMap<string, Sandbox>>(new Map())

  const tell = useCallback(
    (sandbox: Sandbox) =>
      setTold((before) => {
        const known = before.get(sandbox.id)
        return known !== undefined && !isNewer(sandbox, known) ? before : new Map(before).set(sandbox.id, sandbox)
      }),
    []
  )

  const sandboxes = useMemo(() => {
    const listed = loaded.value ?? []
    const ids = new Set(listed.map(({ id }) => id))
    const made = [...told.values()].filter(({ id }) => !ids.has(id)).toSorted((a, b) => (a.id < b.id ? 1 : -1))
    return [
      ...made,
      ...listed.map((sandbox) => {
        const other = told.get(sandbox.id)
        return other !== undefined && isNewer(other, sandbox) ? other : sandbox
      })
    ]
  }, [loaded.value, told])

  /** Loads a Sandbox and shows its state. */
  const look = useCallback(
    async (id: string, signal?: AbortSignal) => {
      const { sandbox } = await get<SandboxResponse>(`/api/v2/sandboxes/${id}`, signal)
      tell(sandbox)
    },
    [tell]
  )

  const waiting = useRef(new Set<string>())
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null)
  useEffect(() => () => clearTimeout(timer.current ?? undefined), [])

  const { reload } = loaded
  const lookAtWaiting = useCallback(() => {
    const ids = [...waiting.current]
    waiting.current.clear()
    if (ids.length > lookAtMost) {
      timer.current = null
      return reload()
    }
    // If one fails, the list is loaded again; the others are shown.
    void Promise.allSettled(ids.map((id) => look(id))).then((answers) => {
      timer.current = waiting.current.size > 0 ? setTimeout(lookAtWaiting, gatherMs) : null
      if (answers.some(({ status }) => status === "rejected")) reload()
    })
  }, [look, reload])

  const feed = useFeed("/api/v2/events", {
    // Earlier changes are in the list that is loaded now.
    began: reload,
    event: (data) => {
      const { kind, sandboxId } = data as StreamedTransition
      if (kind !== "sandbox") return
      waiting.current.add(sandboxId)
      timer.current ??= setTimeout(lookAtWaiting, gatherMs)
    }
  })

  return { loaded, sandboxes, tell, look, feed }
}
