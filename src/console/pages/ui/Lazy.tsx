import type { FunctionComponent } from "preact"
import { useLoad } from "../load.ts"
import { useEvery } from "../useEvery.ts"
import { Fault } from "./Fault.tsx"

const retryMs = 3000

/** The service does not answer: the file may come later. */
class Away extends Error {
  override readonly message =
    "This page is not loaded yet, and the service does not answer. It is loaded as soon as the service is back."
}

/** The service answers, but has no such file. */
class Replaced extends Error {
  override readonly message = "This page could not be loaded: the console may have been updated. Load it again."
}

const isAnswering = async (): Promise<boolean> =>
  (await fetch(location.pathname, { cache: "no-store" }).catch(() => null))?.ok === true

/** A component in a separate file, which is loaded when it is first shown. */
export const lazy = <Props extends object>(name: string, load: () => Promise<FunctionComponent<Props>>) => {
  let Known: FunctionComponent<Props> | null = null
  let wasAway = false
  return function Lazy(props: Props) {
    const { fault, reload } = useLoad(name, async () => {
      try {
        Known ??= await load()
      } catch {
        // The browser's own message names a file and no cause.
        if (!(await isAnswering())) {
          wasAway = true
          throw new Away()
        }
        // A browser may keep a failed import until its page is loaded again.
        if (wasAway) location.reload()
        throw new Replaced()
      }
    })
    const isAway = fault instanceof Away
    useEvery(isAway ? retryMs : null, reload)
    if (Known !== null) return <Known {...props} />
    return fault === null ? (
      <p class="waiting" aria-busy="true">
        Loading …
      </p>
    ) : (
      <Fault fault={fault} retry={isAway ? reload : () => location.reload()} />
    )
  }
}
