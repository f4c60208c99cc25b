import type { FunctionComponent } from "preact"
import { useLoad } from "../load.ts"
import { Fault } from "./Fault.tsx"

/** What stands in a file of its own, which is fetched when it is first shown. */
export const lazy = <Props extends object>(name: string, load: () => Promise<FunctionComponent<Props>>) =>
  function Lazy(props: Props) {
    const { value, fault, reload } = useLoad(name, async () => ({ Page: await load() }))
    if (value !== null) return <value.Page {...props} />
    return fault === null ? <p class="waiting">Loading …</p> : <Fault fault={fault} retry={reload} />
  }
