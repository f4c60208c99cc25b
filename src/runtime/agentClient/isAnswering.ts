/**
 * Whether a slow agent still answers a ping of the session.
 *
 * Node answers pings between two turns of the agent's event loop. So an agent in a machine whose processor is busy with commands still answers, and
 * one that is frozen or gone does not.
 *
 * @source RFC 9113 section 6.7
 */
import type { Http2Session } from "node:http2"

/** Concurrent callers share one ping. */
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
