/** Details of the marked resource. */
import { Link } from "../../ui/Link.tsx"
import type { Crowd } from "./layout.ts"
import { type LaneKind, lastOf, type Step, type Thing } from "./things.ts"
import { exactly } from "./times.ts"

export const nameOfKind: Readonly<Record<LaneKind, readonly [one: string, many: string]>> = {
  sandbox: ["Sandbox", "Sandbox"],
  operation: ["Operation", "Operations"],
  preview: ["Preview", "Previews"],
  serviceAccess: ["Service access", "Service accesses"],
  connectionGrant: ["Connection grant", "Connection grants"],
  snapshot: ["Snapshot", "Snapshots"]
}

export const pathOfOperation = (sandboxId: string, operationId: string): string =>
  `/sandboxes/${sandboxId}/operations/${operationId}`

export type Pointed =
  | { readonly type: "step"; readonly thing: Thing; readonly step: Step }
  | { readonly type: "crowd"; readonly kind: LaneKind; readonly crowd: Crowd }

export const wayOf = ({ from, to }: Step): string => (from === null ? `→ ${to}` : `${from} → ${to}`)

/** One sentence for screen readers. */
export const sentenceOf = ({ kind, id }: Thing, step: Step): string =>
  [
    `${nameOfKind[kind][0]}${kind === "sandbox" ? "" : ` ${id}`}`,
    `${step.event}, ${wayOf(step)}`,
    exactly(step.at),
    `cause ${step.cause}`,
    step.requestId === null ? "no request" : `request ${step.requestId}`
  ].join("; ")

const countsOf = ({ things }: Crowd): string => {
  const counts = new Map<string, number>()
  for (const thing of things) counts.set(lastOf(thing).to, (counts.get(lastOf(thing).to) ?? 0) + 1)
  return [...counts].map(([state, count]) => `${count} ${state}`).join(", ")
}

export const Told = ({ sandboxId, pointed }: { sandboxId: string; pointed: Pointed | null }) => {
  if (pointed === null) {
    return <p class="soft">Point at a lane, or use the arrow keys to go through its transitions.</p>
  }
  if (pointed.type === "crowd") {
    const { kind, crowd } = pointed
    return (
      <p>
        <strong>
          {crowd.things.length} {nameOfKind[kind][crowd.things.length === 1 ? 0 : 1].toLowerCase()} more at the same
          time
        </strong>
        : {countsOf(crowd)}. Choose them to see this part larger; the table below has each.
      </p>
    )
  }
  const { thing, step } = pointed
  return (
    <>
      <p>
        <strong>{nameOfKind[thing.kind][0]}</strong>{" "}
        {thing.kind === "operation" ? (
          <Link to={pathOfOperation(sandboxId, thing.id)}>
            <code class="break">{thing.id}</code>
          </Link>
        ) : thing.kind === "sandbox" ? null : (
          <code class="break">{thing.id}</code>
        )}{" "}
        <span class="soft">revision {step.revision}</span>
      </p>
      <p>
        <code class="event">{step.event}</code> {wayOf(step)}
      </p>
      <p class="soft">
        <time dateTime={new Date(step.at).toISOString()}>{exactly(step.at)}</time> · cause {step.cause} ·{" "}
        {step.requestId === null ? (
          "no request"
        ) : (
          <>
            request <code class="break">{step.requestId}</code>
          </>
        )}
      </p>
    </>
  )
}
