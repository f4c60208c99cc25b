import type { FunctionComponent } from "preact"
import { useLoad } from "../load.ts"
import { Fault } from "./Fault.tsx"

/** A component in a separate file, which is loaded when it is first shown. */
export const lazy = <Props extends object>(name: string, load: () => Promise<FunctionComponent<Props>>) => {
  let Known: FunctionComponent<Props> | null = null
  return function Lazy(props: Props) {
    const { fault } = useLoad(name, async () => {
      Known ??= await load()
    })
    if (Known !== null) return <Known {...props} />
    // A browser may cache a failed import until the page is reloaded, and a new version of the service has other file names.
    return fault === null ? (
      <p class="waiting" aria-busy="true">
        Loading …
      </p>
    ) : (
      <Fault fault={fault} retry={() => location.reload()} />
    )
  }
}
