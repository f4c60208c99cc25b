/** From which Sandboxes a Sandbox comes, and which come from it. */
import { useCallback } from "preact/hooks"
import type { SandboxLineage } from "../../../../../schemas/Fork.ts"
import { get, queryOf } from "../../api.ts"
import { useLoad } from "../../load.ts"
import { type Page, usePages } from "../../paged.ts"
import { Instant } from "../../ui/Instant.tsx"
import { Link } from "../../ui/Link.tsx"
import { More } from "../../ui/More.tsx"
import { Pane } from "../../ui/Pane.tsx"

type Child = SandboxLineage["children"][number]
type Parent = SandboxLineage["parents"][number]

const lineage = (id: string, cursor: string | null, signal?: AbortSignal) =>
  get<SandboxLineage>(`/api/v2/sandboxes/${id}/lineage${queryOf({ limit: 50, cursor })}`, signal)

const To = ({ id }: { id: string }) => (
  <Link to={`/sandboxes/${id}`}>
    <code>{id}</code>
  </Link>
)

interface TreeProps {
  /** Of the outermost list. */
  readonly label?: string
  /** The farthest first. */
  readonly parents: ReadonlyArray<Parent>
  readonly self: string
  readonly made: ReadonlyArray<Child>
}

/** Each list is inside of the entry that it comes from. */
const Tree = ({ label, parents: [parent, ...nearer], self, made }: TreeProps) => {
  if (parent !== undefined) {
    return (
      <ul aria-label={label}>
        <li class="break">
          <To id={parent.sandboxId} /> <span class="soft">by {parent.snapshotId}</span>
          <Tree parents={nearer} self={self} made={made} />
        </li>
      </ul>
    )
  }
  return (
    <ul aria-label={label}>
      <li class="break">
        <strong>{self}</strong> <span class="soft">this one</span>
        {made.length === 0 ? null : (
          <ul>
            {made.map(({ snapshotId, sandboxId: child, createdAt }) => (
              <li key={child} class="break">
                <To id={child} />{" "}
                <span class="soft">
                  by {snapshotId}, <Instant at={createdAt} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </li>
    </ul>
  )
}

/** @param turn Another one loads it again. */
export const Lineage = ({ sandboxId, turn }: { sandboxId: string; turn: number }) => {
  const load = useCallback(
    async (cursor: string | null, signal?: AbortSignal): Promise<Page<Child>> => {
      const { children, nextCursor } = await lineage(sandboxId, cursor, signal)
      return { entries: children, nextCursor }
    },
    [sandboxId]
  )
  const children = usePages(`children ${sandboxId} ${turn}`, load)
  const parents = useLoad(`parents ${sandboxId}`, async (signal) => (await lineage(sandboxId, null, signal)).parents)
  return (
    <Pane title="Lineage" loaded={children}>
      {() =>
        children.entries.length === 0 && (parents.value ?? []).length === 0 ? (
          <p class="empty">It comes from no other Sandbox, and none comes from it.</p>
        ) : (
          <>
            <Tree
              label="Lineage"
              parents={(parents.value ?? []).toReversed()}
              self={sandboxId}
              made={children.entries}
            />
            <More list={children} />
          </>
        )
      }
    </Pane>
  )
}
