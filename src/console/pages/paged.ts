/** A paged list: the next page is loaded on demand. */
import { useCallback, useState } from "preact/hooks"
import { type Loaded, useLoad } from "./load.ts"

export interface Page<A> {
  readonly entries: ReadonlyArray<A>
  readonly nextCursor: string | null
}

export interface PagedList<A> extends Loaded<Page<A>> {
  readonly entries: ReadonlyArray<A>
  /** Null: there are no more entries. */
  readonly more: (() => void) | null
  readonly isLoadingMore: boolean
  readonly moreFault: unknown
}

interface Later<A> {
  /** The first page to which these pages belong. */
  readonly first: Page<A> | null
  readonly pages: ReadonlyArray<Page<A>>
  readonly isLoading: boolean
  readonly fault: unknown
}

export const usePages = <A>(
  key: string,
  load: (cursor: string | null, signal?: AbortSignal) => Promise<Page<A>>
): PagedList<A> => {
  const first = useLoad(key, (signal) => load(null, signal))
  const [kept, setLater] = useState<Later<A>>({ first: null, pages: [], isLoading: false, fault: null })
  const none: Later<A> = { first: first.value, pages: [], isLoading: false, fault: null }
  const later = kept.first === first.value ? kept : none
  const cursor = (later.pages.at(-1) ?? first.value)?.nextCursor ?? null
  const more = useCallback(() => {
    if (cursor === null || later.isLoading) return
    setLater({ ...later, isLoading: true, fault: null })
    const settle = (change: Partial<Later<A>>) =>
      setLater((now) => (now.first === later.first ? { ...now, isLoading: false, ...change } : now))
    load(cursor).then(
      (page) => settle({ pages: [...later.pages, page] }),
      (fault: unknown) => settle({ fault })
    )
  }, [cursor, later, load])
  return {
    ...first,
    entries: [...(first.value?.entries ?? []), ...later.pages.flatMap(({ entries }) => entries)],
    more: cursor === null ? null : more,
    isLoadingMore: later.isLoading,
    moreFault: later.fault
  }
}
