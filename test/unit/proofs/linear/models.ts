/** Small specifications, and histories written by hand: `client: begin-end call=answer`. */
import type { History, Model } from "../../../../src/proofs/linear/Model.ts"

export type RegisterCall = { readonly read: true } | { readonly write: number }

const always = { silent: () => [], moments: () => 1, isRead: () => false, keyOf: String, stateText: String }

/** A read is answered with the last write. */
export const register: Model<number, RegisterCall, number> = {
  ...always,
  first: [0],
  step: (state, does, answer) => ("write" in does ? [does.write] : answer === state ? [state] : []),
  isRead: (does) => "read" in does,
  callText: (does, answer) => ("write" in does ? `write ${does.write}` : `read ${answer}`)
}

/** The same, but it falls to 0 by itself, at any time. */
export const fallingRegister: typeof register = { ...register, silent: (state) => (state === 0 ? [] : [0]) }

export type QueueCall = { readonly put: string } | { readonly take: true }

/** First in, first out; taking from an empty one is answered with the empty text. */
export const queue: Model<ReadonlyArray<string>, QueueCall, string> = {
  ...always,
  first: [[]],
  step: (state, does, answer) => {
    if ("put" in does) return [[...state, does.put]]
    const [head = "", ...rest] = state
    return answer === null || answer === head ? [rest] : []
  },
  keyOf: (state) => state.join(),
  stateText: (state) => `[${state}]`,
  callText: (does, answer) => ("put" in does ? `put ${does.put}` : `take ${answer}`)
}

/** A door: `toggle` changes it at one moment, and is answered with what it is at a later one. */
export const door: Model<{ readonly open: boolean }, "toggle" | "look", boolean> = {
  ...always,
  first: [{ open: false }],
  moments: (does) => (does === "toggle" ? 2 : 1),
  step: ({ open }, does, answer, moment) =>
    does === "toggle" && moment === 0 ? [{ open: !open }] : answer === null || answer === open ? [{ open }] : [],
  isRead: (does, _, moment) => does === "look" || moment === 1,
  keyOf: ({ open }) => String(open),
  stateText: ({ open }) => (open ? "open" : "closed"),
  callText: (does, answer) => `${does} ${answer}`
}

/** A latch: a press opens it if it is armed, and does nothing otherwise; its answer does not tell. */
export const latch: Model<string, "arm" | "press" | "look", string> = {
  ...always,
  first: ["idle"],
  step: (state, does, answer) => {
    if (does === "look") return answer === state ? [state] : []
    return [does === "arm" ? "armed" : state === "armed" ? "open" : state]
  },
  isRead: (does) => does === "look",
  callText: (does, answer) => `${does} ${answer}`
}

type Row<C, A> = readonly [client: string, invokedAt: number, answeredAt: number | null, does: C, answer?: A]

/** Without an answer's time the answer was lost. */
export const historyOf = <C, A>(rows: ReadonlyArray<Row<C, A>>): History<C, A> =>
  rows.map(([client, invokedAt, at, does, answer]) => ({
    client,
    does,
    invokedAt,
    answered: at === null ? null : { at, answer: answer as A }
  }))

export const write = (value: number): RegisterCall => ({ write: value })
export const read: RegisterCall = { read: true }
export const put = (value: string): QueueCall => ({ put: value })
export const take: QueueCall = { take: true }

const randomOf = (seed: number) => {
  let state = seed
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    return state / 2 ** 32
  }
}

/** Calls of several clients at a true register: each takes effect at an instant within its time, and some answers are lost. */
export const recorded = (seed: number, clients: number, calls: number): History<RegisterCall, number> => {
  const random = randomOf(seed)
  const planned = Array.from({ length: clients }, (_, client) => {
    let now = random() * 10
    return Array.from({ length: calls }, (_, place) => {
      const invokedAt = now
      const effectAt = invokedAt + random() * 10
      const at = effectAt + random() * 10
      now = at + random() * 2
      const does = random() < 0.4 ? write(1 + client * calls + place) : read
      return { client: String(client), does, invokedAt, effectAt, at, isLost: "write" in does && random() < 0.05 }
    })
  }).flat()
  let value = 0
  return planned
    .toSorted((one, other) => one.effectAt - other.effectAt)
    .map(({ client, does, invokedAt, at, isLost }) => {
      // A lost write takes effect in half of the cases.
      if ("write" in does && (!isLost || random() < 0.5)) value = does.write
      return { client, does, invokedAt, answered: isLost ? null : { at, answer: value } }
    })
}
