/** A Sandbox's statechart, and its whole life to go back and forth in. */
import { useEffect, useState } from "preact/hooks"
import { Fault } from "../ui/Fault.tsx"
import { Moment } from "./Moment.tsx"
import type { TabProps } from "./tabs.ts"

export const Life = ({ sandbox, life }: TabProps) => {
  /** Null: the newest, whichever it is. */
  const [chosen, choose] = useState<number | null>(null)
  useEffect(() => choose(null), [sandbox.id])
  return (
    <section class="pane" aria-labelledby="life">
      <h2 id="life">Its life</h2>
      <Fault fault={life.fault} retry={life.reload} />
      {life.revisions.length === 0 ? (
        life.fault === null ? (
          <p class="waiting">Loading …</p>
        ) : null
      ) : (
        <Moment revisions={life.revisions} stored={life.stored} chosen={chosen} choose={choose} />
      )}
    </section>
  )
}
