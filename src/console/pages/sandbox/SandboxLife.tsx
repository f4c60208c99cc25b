/** A Sandbox's statechart, its whole life to go back and forth in, and all that happened in it meanwhile. */
import { Life } from "../machine/Life.tsx"
import { sandboxKind } from "../machine/sandboxKind.ts"
import { useLife } from "../machine/useLife.ts"
import { useSnapshots } from "../snapshots/useSnapshots.ts"
import { isUsableSnapshot } from "../states.ts"
import { ForkFromHere } from "./ForkFromHere.tsx"
import type { TabProps } from "./TabProps.ts"
import { Timeline } from "./timeline/Timeline.tsx"

export const SandboxLife = ({ sandbox }: TabProps) => {
  const { id } = sandbox
  const path = `/api/v2/sandboxes/${id}`
  const life = useLife({ kind: sandboxKind, actorId: id, path, events: `${path}/events` })
  const { listed } = useSnapshots(id)
  const snapshots = listed.entries.filter(({ status }) => isUsableSnapshot(status))
  return (
    <Life
      actorId={id}
      life={life}
      marks={snapshots.map(({ sandboxRevision, name, id }) => ({
        revision: sandboxRevision,
        label: `snapshot ${name ?? id}`
      }))}
      between={(revision, go) => (
        <>
          <ForkFromHere sandbox={sandbox} revision={revision} snapshots={snapshots} />
          <Timeline id={id} revisions={life.revisions} revision={revision} choose={go} />
        </>
      )}
    />
  )
}
