/** A refused history for people: every call with its times, how far an order explains them, and what cannot follow. */
import { linearize } from "./linearize.ts"
import type { Call, History, Model } from "./Model.ts"
import type { Shrunk } from "./shrink.ts"

const width = 40

const timesText = ({ invokedAt, answered }: Call<unknown, unknown>, begin: number): string => {
  const since = (at: number) => (at - begin).toFixed(1).padStart(9)
  return `${since(invokedAt)} ${answered === null ? "     lost" : since(answered.at)}`
}

/** When a call went on, as a bar. */
const bar = ({ invokedAt, answered }: Call<unknown, unknown>, begin: number, end: number): string => {
  const place = (at: number) => Math.round(Math.max(0, (at - begin) / Math.max(end - begin, 1e-9)) * (width - 1))
  const from = place(invokedAt)
  const to = answered === null ? width - 1 : place(answered.at)
  const line = answered === null ? `├${"╌".repeat(to - from)}` : to === from ? "│" : `├${"─".repeat(to - from - 1)}┤`
  return `${" ".repeat(from)}${line}`.padEnd(width)
}

export const historyText = <S, C, A>(
  model: Pick<Model<S, C, A>, "callText">,
  history: History<C, A>,
  begin = Math.min(...history.map(({ invokedAt }) => invokedAt))
): string => {
  const end = Math.max(...history.map(({ invokedAt, answered }) => answered?.at ?? invokedAt))
  return history
    .toSorted((one, other) => one.invokedAt - other.invokedAt)
    .map((call) => {
      const text = model.callText(call.does, call.answered?.answer ?? null)
      return `${timesText(call, begin)}  ${call.client.padEnd(4)} ${bar(call, begin, end)}  ${text}`
    })
    .join("\n")
}

/** @param begin What counts as 0 ms: the first call of the whole history. */
export const refusalText = <S, C, A>(
  model: Model<S, C, A>,
  { history, wrong, isRightAtAnotherTime }: Shrunk<C, A>,
  begin?: number
) => {
  const verdict = linearize(model, history)
  const textOf = ({ client, does, answered }: Call<C, A>) =>
    `${client.padEnd(4)} ${model.callText(does, answered?.answer ?? null)}`
  const momentText = ({ call, moment }: { readonly call: Call<C, A>; readonly moment: number }) =>
    `${textOf(call)}${model.moments(call.does) > 1 ? ` [moment ${moment + 1}]` : ""}`
  const states = verdict.order.at(-1)?.states ?? model.first
  return [
    "No order explains these calls (ms since the first call; begin, answer, client):",
    historyText(model, history, begin),
    ...(wrong === null ? [] : [`Wrong: ${textOf(wrong)}`]),
    isRightAtAnotherTime ? "It would be right at another time." : "It is right at no time.",
    "The longest order that was found:",
    ...verdict.order.map((placed) => `  ${momentText(placed)}`),
    "after which it is one of:",
    ...states.map((state) => `  ${model.stateText(state)}`),
    ...(verdict.is === "refused"
      ? ["and one of these would have to be next:", ...verdict.next.map((next) => `  ${momentText(next)}`)]
      : [`(the search ended as ${verdict.is})`])
  ].join("\n")
}
