/**
 * A smaller history that no order explains either: its shortest beginning that is refused, without the calls that play no part in it.
 *
 * The answer that ends this beginning is wrong, because everything before it is explained. Most wrong answers are right at another time: a stale
 * read, a change that was lost. Then a call is left out only where the answer stays wrong, and stays right at another time, so that the smaller
 * history has the same fault and no other. An answer that is right at no time keeps all changes beside it, and only reads are left out.
 */
import { linearize, type SearchLimits } from "./linearize.ts"
import { type Call, type History, isReadCall, type Model } from "./Model.ts"

export interface Shrunk<C, A> {
  readonly history: History<C, A>
  /** The answer that is wrong; null: the limits were reached before it was found. */
  readonly wrong: Call<C, A> | null
  /** With other times it would be right. */
  readonly isRightAtAnotherTime: boolean
}

const shrinkMs = 20_000
const trial: SearchLimits = { msMax: 2_000, seenMax: 500_000 }

/** As it was known at that moment. */
const until = <C, A>(history: History<C, A>, at: number): History<C, A> =>
  history
    .filter(({ invokedAt }) => invokedAt <= at)
    .map((call) => (call.answered !== null && call.answered.at > at ? { ...call, answered: null } : call))

/** With that call at any time. */
const atAnyTime = <C, A>(history: History<C, A>, one: Call<C, A>): History<C, A> =>
  history.map((call) =>
    call === one && call.answered !== null
      ? { ...call, invokedAt: -Number.MAX_VALUE, answered: { ...call.answered, at: Number.MAX_VALUE } }
      : call
  )

export const shrink = <S, C, A>(model: Model<S, C, A>, history: History<C, A>, msMax = shrinkMs): Shrunk<C, A> => {
  const endAt = performance.now() + msMax
  const isRefused = (tried: History<C, A>) =>
    performance.now() < endAt && linearize(model, tried, trial).is === "refused"
  const isExplained = (tried: History<C, A>) => linearize(model, tried, trial).is === "linearizable"

  const whole = shortestBeginning(history, isRefused)
  const lastAt = Math.max(...whole.map(({ answered }) => answered?.at ?? 0))
  // One request may be several calls, which are answered together: one of them is wrong.
  const last = whole.filter(({ answered }) => answered?.at === lastAt)
  const movable = last.find((call) => isExplained(atAnyTime(whole, call)))
  const wrong = movable ?? last[0] ?? null
  const isRightAtAnotherTime = movable !== undefined

  const isTheSame = (tried: History<C, A>) =>
    isRefused(tried) && (movable === undefined || isExplained(atAnyTime(tried, movable)))
  const mayGo = (call: Call<C, A>) => call !== wrong && (isRightAtAnotherTime || isReadCall(model, call))

  let least = whole
  for (let size = Math.ceil(whole.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = Math.max(0, least.length - size); ; at = Math.max(0, at - size)) {
      const rest = least.filter((call, place) => place < at || place >= at + size || !mayGo(call))
      if (rest.length < least.length && isTheSame(rest)) least = rest
      if (at === 0) break
    }
  }
  return { history: least, wrong, isRightAtAnotherTime }
}

const shortestBeginning = <C, A>(
  history: History<C, A>,
  isRefused: (tried: History<C, A>) => boolean
): History<C, A> => {
  const times = history.flatMap(({ answered }) => (answered === null ? [] : [answered.at])).sort((a, b) => a - b)
  let low = 0
  let high = times.length - 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (isRefused(until(history, times[middle]!))) high = middle
    else low = middle + 1
  }
  const cut = times[low] === undefined ? history : until(history, times[low]!)
  return isRefused(cut) ? cut : history
}
