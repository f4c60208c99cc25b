import type { PagedList } from "../paged.ts"
import { Fault } from "./Fault.tsx"

/** A button for the next page of a list. */
export const More = <A,>({ list: { more, isLoadingMore, moreFault } }: { list: PagedList<A> }) => (
  <>
    <Fault fault={moreFault} />
    {more === null ? null : (
      <div class="buttons">
        <button type="button" class="button" onClick={more} aria-disabled={isLoadingMore}>
          {isLoadingMore ? "Loading …" : "Show more"}
        </button>
      </div>
    )}
  </>
)
