/** All Sandboxes of the account, and of each the newest state that anybody has told this page of. */
import { useCallback, useEffect, useMemo, useState } from "preact/hooks"
import type { Sandbox, SandboxList, SandboxResponse } from "../../../../schemas/Sandbox.ts"
import { get, queryOf } from "../api.ts"
import { useLoad } from "../load.ts"

const pageRows = 1000

/** Neither deleted nor at rest: something of the service's own will change it soon. */
const passing: ReadonlySet<string> = new Set(["pending", "stopping", "deleting"])
const lookAgainMs = 1000
/** More than these at once are told by a load of the whole list. */
const lookAtMost = 8

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

  /** Asks the service how one is, and shows that. */
  const look = useCallback(
    async (id: string, signal?: AbortSignal) => {
      const { sandbox } = await get<SandboxResponse>(`/api/v2/sandboxes/${id}`, signal)
      tell(sandbox)
    },
    [tell]
  )

  const onTheWay = sandboxes.filter(({ status }) => passing.has(status))
  const watched = onTheWay
    .slice(0, lookAtMost)
    .map(({ id }) => id)
    .join(" ")
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    if (watched === "") return
    const abort = new AbortController()
    const timer = setTimeout(() => {
      // A look that fails changes nothing that is shown; the next one is due anyhow.
      void Promise.allSettled(watched.split(" ").map((id) => look(id, abort.signal))).then(() => {
        if (!abort.signal.aborted) setTurn((before) => before + 1)
      })
    }, lookAgainMs)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [watched, turn, look])

  return { loaded, sandboxes, tell, look }
}
