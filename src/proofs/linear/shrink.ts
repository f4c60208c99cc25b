/**
 * A smaller history that no order explains either: its shortest beginning that is refused, without the calls that play no part in it.
 *
 * Without a read, a history asks for less. Without a change it may be refused for another reason, because the change is what an answer shows. So a
 * change is left out only where the history is still not explained when that change is put back as a lost one, which may have taken effect at any
 * time or never.
 */
import { linearize, type SearchLimits } from "./linearize.ts"
import type { Call, History, Model } from "./Model.ts"

export interface Shrunk<C, A> {
  readonly history: History<C, A>
  /** The changes that were left out. */
  readonly leftOut: number
  /** Whether the search with all of them put back was complete: then its refusal is a proof about the whole history. */
  readonly isProof: boolean
}

const shrinkMs = 20_000
const trial: SearchLimits = { msMax: 2_000, seenMax: 500_000 }
/** An order that needs a lost call is found quickly, or not at all. */
const withLost: SearchLimits = { msMax: 500, seenMax: 20_000 }

const forgotten = <C, A>(call: Call<C, A>): Call<C, A> => ({ ...call, answered: null })

/** As it was known at that moment. */
const until = <C, A>(history: History<C, A>, at: number): History<C, A> =>
  history
    .filter(({ invokedAt }) => invokedAt <= at)
    .map((call) => (call.answered !== null && call.answered.at > at ? forgotten(call) : call))

export const shrink = <S, C, A>(model: Model<S, C, A>, history: History<C, A>, msMax = shrinkMs): Shrunk<C, A> => {
  const endAt = performance.now() + msMax
  const isRefused = (tried: History<C, A>) =>
    performance.now() < endAt && linearize(model, tried, trial).is === "refused"

  const whole = shortestBeginning(history, isRefused)
  let least = whole
  let changes: History<C, A> = []
  for (let size = Math.ceil(whole.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = Math.max(0, least.length - size); ; at = Math.max(0, at - size)) {
      const rest = [...least.slice(0, at), ...least.slice(at + size)]
      const left = [
        ...changes,
        ...least
          .slice(at, at + size)
          .filter(({ does }) => !model.isRead(does))
          .map(forgotten)
      ]
      const isSmaller =
        isRefused(rest) &&
        (left.length === changes.length || linearize(model, [...rest, ...left], withLost).is !== "linearizable")
      if (isSmaller) {
        least = rest
        changes = left
      }
      if (at === 0) break
    }
  }
  const isProof = linearize(model, [...least, ...changes], trial).is === "refused"
  return { history: least, leftOut: changes.length, isProof }
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
