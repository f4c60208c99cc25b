/** An actor's statechart, with a slider over its whole history. */
import type { ComponentProps } from "preact"
import { useEffect, useState } from "preact/hooks"
import { Fault } from "../ui/Fault.tsx"
import { Moment } from "./Moment.tsx"
import type { FollowedLife } from "./useLife.ts"

interface Shown {
  readonly actorId: string
  readonly life: FollowedLife
  readonly marks?: ComponentProps<typeof Moment>["marks"]
  /** Further content for a moment. */
  readonly between?: ComponentProps<typeof Moment>["between"]
}

export const Life = ({ actorId, life, marks, between }: Shown) => {
  /** Null: the newest revision. */
  const [chosen, choose] = useState<number | null>(null)
  useEffect(() => choose(null), [actorId])
  return (
    <section class="pane" aria-labelledby="life">
      <h2 id="life">State history</h2>
      <Fault fault={life.fault} retry={life.reload} />
      {life.revisions.length === 0 ? (
        life.fault === null ? (
          <p class="waiting">Loading …</p>
        ) : null
      ) : (
        <Moment
          kind={life.kind}
          revisions={life.revisions}
          stored={life.stored}
          chosen={chosen}
          choose={choose}
          marks={marks}
          between={between}
        />
      )}
    </section>
  )
}
