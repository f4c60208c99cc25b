/**
 * Small messages of one turn of the event loop are sent at its end, one right after the other.
 *
 * A write to a process that sleeps wakes it, which takes longer than all else of a small answer. A process that the first of several messages
 * has woken is still awake for the next ones (docs/architecture/speed.md).
 */
let sends: Array<() => void> = []

const sendAll = (): void => {
  const due = sends
  sends = []
  for (const send of due) send()
}

/** `send` must not throw. */
export const atTurnsEnd = (send: () => void): void => {
  if (sends.length === 0) setImmediate(sendAll)
  sends.push(send)
}
