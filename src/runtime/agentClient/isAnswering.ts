/**
 * Whether an agent is there although it is slow with an answer: it answers a ping of the session.
 *
 * HTTP/2 answers pings between two turns of the agent's event loop, so a machine whose processor is taken by commands still does, and one
 * that is frozen or gone does not.
 *
 * @source RFC 9113 section 6.7
 */
import type { Http2Session } from "node:http2"

/** One ping at a time serves all who ask. */
const asking = new WeakMap<Http2Session, Promise<boolean>>()

/** Never rejects. */
export const isAnswering = (session: Http2Session, withinMs: number): Promise<boolean> => {
  const known = asking.get(session)
  if (known !== undefined) return known
  const answer = new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), withinMs)
    const settle = (answers: boolean) => {
      clearTimeout(timer)
      resolve(answers)
    }
    if (session.destroyed || session.closed || !session.ping((cause) => settle(cause === null))) settle(false)
  }).finally(() => asking.delete(session))
  asking.set(session, answer)
  return answer
}
