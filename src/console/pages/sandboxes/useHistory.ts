/** A Sandbox and its whole log, as they are committed. */
import { useEffect, useRef } from "preact/hooks"
import type { Sandbox, SandboxResponse } from "../../../../schemas/Sandbox.ts"
import type { Transition, TransitionList } from "../../../../schemas/Transition.ts"
import { get, queryOf } from "../api.ts"
import { useLoad } from "../load.ts"
import { useFeed } from "../useFeed.ts"

/** What happens within such a time is asked for together. */
const gatherMs = 100
const pageRows = 1000

export interface History {
  readonly sandbox: Sandbox
  /** Oldest first; the last one led to where it is. */
  readonly transitions: ReadonlyArray<Transition>
  readonly nextEvents: ReadonlyArray<string>
}

const history = async (id: string, signal: AbortSignal): Promise<History> => {
  const transitions: Array<Transition> = []
  let nextEvents: ReadonlyArray<string> = []
  let cursor: string | null = null
  do {
    const page: TransitionList = await get(
      `/api/v2/sandboxes/${id}/transitions${queryOf({ limit: pageRows, cursor })}`,
      signal
    )
    transitions.push(...page.transitions)
    nextEvents = page.nextEvents
    cursor = page.nextCursor
  } while (cursor !== null)
  const { sandbox } = await get<SandboxResponse>(`/api/v2/sandboxes/${id}`, signal)
  return { sandbox, transitions, nextEvents }
}

export const useHistory = (id: string) => {
  const loaded = useLoad(`history ${id}`, (signal) => history(id, signal))
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null)
  useEffect(() => () => clearTimeout(timer.current ?? undefined), [])
  const feed = useFeed(`/api/v2/sandboxes/${id}/events`, {
    began: loaded.reload,
    event: (data) => {
      if ((data as { readonly kind: string }).kind !== "sandbox") return
      timer.current ??= setTimeout(() => {
        timer.current = null
        loaded.reload()
      }, gatherMs)
    }
  })
  return { loaded, feed }
}
