/** Transitions as they are committed: each once, those of one actor in order, over lost connections. */
import type { InnerTransition } from "./generated/schemas.ts"
import { resumed } from "./http/resumed.ts"
import type { Transport } from "./http/Transport.ts"

export type TransitionEvent = InnerTransition & {
  /** Given as `after`, the stream resumes after this event. */
  readonly position: string
}

export interface FollowEventsOptions {
  /** The position of the last event that was seen. By default from now on. */
  readonly after?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * `sandboxId` null: the whole account's. Fails with `CURSOR_STALE` after a position that is older than the stored
 * events.
 */
export async function* followEvents(
  transport: Transport,
  sandboxId: string | null,
  { after, signal }: FollowEventsOptions
): AsyncGenerator<TransitionEvent, void, undefined> {
  let position = after
  const open = (signal: AbortSignal) =>
    sandboxId === null
      ? transport.open("streamEvents", { parameters: { after: position }, signal })
      : transport.open("streamSandboxEvents", { parameters: { id: sandboxId, after: position }, signal })
  for await (const { id, event, data } of resumed(open, signal)) {
    if (id !== "") position = id
    if (event === "transition") yield { ...(JSON.parse(data) as InnerTransition), position: id }
  }
}
