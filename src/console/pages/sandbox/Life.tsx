/** A Sandbox's statechart, its whole life to go back and forth in, and all that happened in it meanwhile. */
import { Life as LifeOf } from "../machine/Life.tsx"
import { sandboxKind } from "../machine/sandboxKind.ts"
import { useLife } from "../machine/useLife.ts"
import type { TabProps } from "./TabProps.ts"
import { Timeline } from "./timeline/Timeline.tsx"

export const Life = ({ sandbox: { id } }: TabProps) => {
  const path = `/api/v2/sandboxes/${id}`
  const life = useLife({ kind: sandboxKind, actorId: id, path, events: `${path}/events` })
  return (
    <LifeOf
      actorId={id}
      life={life}
      between={(revision, go) => <Timeline id={id} revisions={life.revisions} revision={revision} choose={go} />}
    />
  )
}
