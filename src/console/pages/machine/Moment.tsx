/** One moment of an actor's history, and the navigation to all others. */
import type { ComponentChildren } from "preact"
import type { TransitionList } from "../../../../schemas/Transition.ts"
import { litOf } from "../../../statechart/lit.ts"
import { StatechartViewer } from "../statechart/StatechartViewer.tsx"
import { Instant } from "../ui/Instant.tsx"
import { WindowedRows } from "../ui/WindowedRows.tsx"
import { AskedCommands } from "./AskedCommands.tsx"
import { Changes } from "./Changes.tsx"
import type { Kind } from "./Kind.ts"
import { type Mark, Scrubber } from "./Scrubber.tsx"
import { StillPending } from "./StillPending.tsx"
import { sameJson } from "./sameJson.ts"
import { nextEvents } from "./simulate.ts"
import type { Revision } from "./useLife.ts"
import { Waiting } from "./Waiting.tsx"

interface Shown {
  readonly kind: Kind
  readonly revisions: ReadonlyArray<Revision>
  readonly stored: TransitionList["stored"] | null
  /** Null: the newest. */
  readonly chosen: number | null
  readonly choose: (revision: number | null) => void
  /** At the slider. */
  readonly marks?: ReadonlyArray<Mark> | undefined
  /** Further content for that moment, above the list of all. `go` shows another revision. */
  readonly between?: ((revision: number, go: (to: number) => void) => ComponentChildren) | undefined
}

/** Compares the fold in the browser with the service's snapshot, at the snapshot's revision. */
const Proof = ({ revisions, stored }: Pick<Shown, "revisions" | "stored">) => {
  const folded = stored === null ? undefined : revisions[stored.revision - 1]?.snapshot
  if (stored === null || folded === undefined) return <p class="hint">Comparing with the service's snapshot …</p>
  return folded.value === stored.status && sameJson(folded.context, stored.context) ? (
    <p class="proof good">
      This browser folded {stored.revision === 1 ? "1 transition" : `${stored.revision} transitions`} through the
      machine: the result equals what the service stores at revision {stored.revision}.
    </p>
  ) : (
    <p class="fault" role="alert">
      This browser's fold of the log differs from the service's snapshot at revision {stored.revision}.
    </p>
  )
}

/** Possible events, with the present generation and version, from an unnamed client, as in the service. */
const nextOf = ({ snapshot }: Revision): ReadonlyArray<string> => {
  const { generation, edition, idleStopAt } = snapshot.context as Readonly<Record<string, unknown>>
  return nextEvents(snapshot, (type) => ({ type, generation, edition, idleStopAt, client: "" }))
}

const fieldsOf = ({ type: _type, at: _at, ...fields }: Readonly<Record<string, unknown>>): string | null =>
  Object.keys(fields).length === 0 ? null : JSON.stringify(fields)

export const Moment = ({ kind, revisions, stored, chosen, choose, marks = [], between }: Shown) => {
  const newest = revisions.length
  const revision = Math.min(chosen ?? newest, newest)
  const shown = revisions[revision - 1]!
  const before = revisions[revision - 2] ?? null
  const { transition, snapshot, deadlines } = shown
  const next = nextOf(shown)
  const go = (to: number) => choose(to >= newest ? null : Math.max(1, to))
  const lit = litOf(kind.chart, {
    state: snapshot.value as string,
    last: { from: transition.from, event: transition.event.type, to: transition.to },
    nextEvents: next
  })
  const fields = fieldsOf(transition.event)
  return (
    <>
      <Scrubber shown={shown} newest={newest} isFollowing={chosen === null} marks={marks} go={go} />
      <div class="beside">
        <StatechartViewer chart={kind.chart} lit={lit} turn={revision} />
        <div class="controls">
          <h3>
            <code class="event">{transition.event.type}</code>{" "}
            {transition.from === null ? `→ ${transition.to}` : `${transition.from} → ${transition.to}`}
          </h3>
          <dl class="facts">
            <dt>At</dt>
            <dd>
              <Instant at={transition.at} />
            </dd>
            <dt>Cause</dt>
            <dd>{transition.cause}</dd>
            <dt>Request</dt>
            <dd>
              {transition.requestId === null ? <span class="soft">none</span> : <code>{transition.requestId}</code>}
            </dd>
            {fields === null ? null : (
              <>
                <dt>Event's fields</dt>
                <dd>
                  <code class="break">{fields}</code>
                </dd>
              </>
            )}
            <dt>May be next</dt>
            <dd>
              {next.length === 0 ? <span class="soft">nothing</span> : <code class="break">{next.join(", ")}</code>}
            </dd>
          </dl>
          <AskedCommands commands={transition.commands} />
          <StillPending revisions={revisions} pending={transition.stillPending} />
          <Waiting deadlines={deadlines} />
          <Changes before={before?.snapshot.context ?? null} after={snapshot.context} />
          <Proof revisions={revisions} stored={stored} />
        </div>
      </div>
      {between?.(revision, go)}
      <WindowedRows
        label="Transitions"
        layout="of-transitions"
        columns={["Revision", "Event", "From", "To", "At", "Cause", "Request"]}
        rows={revisions}
        keyOf={(row) => String(row.transition.revision)}
        cells={(row) => [
          <button
            key="revision"
            type="button"
            class="button small"
            onClick={() => go(row.transition.revision)}
            aria-label={`Show revision ${row.transition.revision}`}
            {...(row.transition.revision === revision ? { "aria-current": "step" as const } : {})}
          >
            {row.transition.revision}
          </button>,
          <code key="event" class="event">
            {row.transition.event.type}
          </code>,
          row.transition.from ?? "–",
          row.transition.to,
          <Instant key="at" at={row.transition.at} />,
          row.transition.cause,
          row.transition.requestId === null ? "–" : <code key="request">{row.transition.requestId}</code>
        ]}
      />
    </>
  )
}
