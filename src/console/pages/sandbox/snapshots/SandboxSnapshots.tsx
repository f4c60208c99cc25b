/** The snapshots of a Sandbox, its forks, and its lineage. */
import { useState } from "preact/hooks"
import { ForkSandbox } from "../../snapshots/ForkSandbox.tsx"
import { SnapshotTable } from "../../snapshots/SnapshotTable.tsx"
import { TakeSnapshot } from "../../snapshots/TakeSnapshot.tsx"
import { useSnapshots } from "../../snapshots/useSnapshots.ts"
import { isCapturable } from "../../states.ts"
import { Live } from "../../ui/Live.tsx"
import { More } from "../../ui/More.tsx"
import { Pane } from "../../ui/Pane.tsx"
import type { TabProps } from "../TabProps.ts"
import { Lineage } from "./Lineage.tsx"

export const SandboxSnapshots = ({ sandbox }: TabProps) => {
  const { listed, feed } = useSnapshots(sandbox.id)
  const [asked, setAsked] = useState<"take" | "fork" | null>(null)
  const [turn, setTurn] = useState(0)
  const close = () => setAsked(null)
  const actions = isCapturable(sandbox.status) ? (
    <>
      <button type="button" class="button primary" onClick={() => setAsked("take")}>
        Take a snapshot
      </button>
      <button type="button" class="button" onClick={() => setAsked("fork")}>
        Fork
      </button>
    </>
  ) : null
  return (
    <>
      <Pane title="Snapshots" loaded={listed} age={<Live feed={feed} at={listed.at} />} actions={actions}>
        {() =>
          listed.entries.length === 0 ? (
            <p class="empty">
              There are no snapshots of this Sandbox. One keeps its files as they are, and new Sandboxes can begin with
              them.
            </p>
          ) : (
            <>
              <SnapshotTable snapshots={listed.entries} sandbox={sandbox} changed={listed.reload} />
              <More list={listed} />
            </>
          )
        }
      </Pane>
      <Lineage sandboxId={sandbox.id} turn={turn} />
      {asked === "take" ? (
        <TakeSnapshot
          sandbox={sandbox}
          close={close}
          done={() => {
            close()
            listed.reload()
          }}
        />
      ) : asked === "fork" ? (
        <ForkSandbox
          sandbox={sandbox}
          close={close}
          done={() => {
            listed.reload()
            setTurn((before) => before + 1)
          }}
        />
      ) : null}
    </>
  )
}
