/** A Sandbox's statechart, its whole life to go back and forth in, and all that happened in it meanwhile. */
import { Life as LifeOf } from "../machine/Life.tsx"
import { lazy } from "../ui/Lazy.tsx"
import type { TabProps } from "./TabProps.ts"

const Timeline = lazy("timeline", async () => (await import("./timeline/Timeline.tsx")).Timeline)

export const Life = ({ sandbox, life }: TabProps) => (
  <LifeOf
    actorId={sandbox.id}
    life={life}
    between={(revision, go) => <Timeline id={sandbox.id} revisions={life.revisions} revision={revision} choose={go} />}
  />
)
