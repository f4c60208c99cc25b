import type { FunctionComponent } from "preact"
import { useLoad } from "../load.ts"
import { Fault } from "./Fault.tsx"

/** What stands in a file of its own, which is fetched when it is first shown. */
export const lazy = <Props extends object>(name: string, load: () => Promise<FunctionComponent<Props>>) => {
  let Known: FunctionComponent<Props> | null = null
  return function Lazy(props: Props) {
    const { fault } = useLoad(name, async () => {
      Known ??= await load()
    })
    if (Known !== null) return <Known {...props} />
    // A browser may keep a failed import for as long as the page lives, and a service that was replaced has files of other names.
    return fault === null ? (
      <p class="waiting" aria-busy="true">
        Loading …
      </p>
    ) : (
      <Fault fault={fault} retry={() => location.reload()} />
    )
  }
}
