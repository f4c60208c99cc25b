/** How long a way into a Sandbox (a preview, a service access, a connection grant) lasts: the one place that compares its end with an instant. */

interface Ending {
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

/** The deadline with which its machine ends it. */
export const expiry = ({ context }: { readonly context: Ending }) => ({
  name: "expiry",
  at: context.expiresAt,
  event: { type: "EXPIRE" }
})

/** False from the deadline's instant on, also before the deadline has fired. */
export const lastsAt = ({ expiresAt }: Ending, at: number): boolean => at < expiresAt

/**
 * Guard: at the event's own time its end has come, whether or not its deadline has fired: timers are late, and a process that was frozen
 * hears first what was asked of it. Such an event ends it as the deadline would have.
 */
export const isOver = ({
  context,
  event
}: {
  readonly context: Ending
  readonly event: { readonly at: number }
}): boolean => !lastsAt(context, event.at)
