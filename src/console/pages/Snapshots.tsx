/** All snapshots of the account. */
import { SnapshotTable } from "./snapshots/SnapshotTable.tsx"
import { useSnapshots } from "./snapshots/useSnapshots.ts"
import { Live } from "./ui/Live.tsx"
import { More } from "./ui/More.tsx"
import { Pane } from "./ui/Pane.tsx"

export const Snapshots = () => {
  const { listed, feed } = useSnapshots(null)
  return (
    <>
      <h1>Snapshots</h1>
      <p class="lead">
        A snapshot has the files of a Sandbox as they were at one instant. It outlives the Sandbox, and new Sandboxes
        can begin with it. What it stores counts toward its workspace's storage.
      </p>
      <Pane title="All snapshots" loaded={listed} age={<Live feed={feed} at={listed.at} />}>
        {() =>
          listed.entries.length === 0 ? (
            <p class="empty">There are no snapshots. A Sandbox's page has a part “Snapshots”, which takes one.</p>
          ) : (
            <>
              <SnapshotTable snapshots={listed.entries} sandbox={null} changed={listed.reload} />
              <More list={listed} />
            </>
          )
        }
      </Pane>
    </>
  )
}
