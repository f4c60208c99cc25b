/** An event of the audit log as a row. */
import type { ComponentChildren } from "preact"
import type { AuditEvent } from "../../../schemas/Audit.ts"
import { Instant } from "./ui/Instant.tsx"

const who = ({ source, keyName, keyHint }: AuditEvent): string =>
  keyHint === null ? source : `${keyName ?? "key"} (… ${keyHint})`

export const eventColumns = ["Time", "Action", "Response", "Caller and address", "Target and request id"]

/** @param children More about its target. */
export const EventRow = ({ event, children }: { event: AuditEvent; children?: ComponentChildren }) => (
  <tr>
    <td>
      <Instant at={event.at} />
    </td>
    <td>
      <strong>{event.action}</strong>
      <code class="soft block cut called" title={event.path}>
        {event.method} {event.path}
      </code>
    </td>
    <td>
      <span class={`status ${event.status < 400 ? "done" : "refused"}`}>{event.status}</span>
      {event.errorCode === null ? null : <span class="soft block">{event.errorCode}</span>}
    </td>
    <td>
      <span class="break">{who(event)}</span>
      <span class="soft block">{event.sourceIp}</span>
      {event.userAgent === null ? null : (
        <span class="soft block cut agent" title={event.userAgent}>
          {event.userAgent}
        </span>
      )}
    </td>
    <td>
      {children}
      {event.targetType ?? (event.targetId === null && children === undefined ? "–" : null)}
      {event.targetId === null ? null : <code class="soft block">{event.targetId}</code>}
      <code class="soft block">{event.requestId}</code>
    </td>
  </tr>
)
