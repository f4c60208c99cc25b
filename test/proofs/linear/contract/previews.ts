/**
 * Previews: a port of a Sandbox that runs, under a host name, until it is closed or the runtime ends. Opening and closing have two moments: the port
 * is taken, and the preview is served; it ends, and is served no more.
 */
import { type Answer, type DoesOf, isOf } from "../calls.ts"
import { refused, withoutRuntime } from "./refusals.ts"
import { type Next, type PreviewState, type State, type Step, when } from "./State.ts"

const withPreview = (state: State, by: string, preview: PreviewState): State => ({
  ...state,
  previews: { ...state.previews, [by]: preview }
})

const without = (state: State, isGone: (preview: PreviewState, by: string) => boolean): State => ({
  ...state,
  previews: Object.fromEntries(Object.entries(state.previews).filter(([by, preview]) => !isGone(preview, by)))
})

/** It is being closed, or its runtime ends or has ended: it may be closed already. */
const isEnding = ({ status, generation }: State, preview: PreviewState): boolean =>
  preview.is === "closing" || generation > preview.generation || status !== "running"

const isServed = (state: State, preview: PreviewState): boolean => preview.is === "active" && !isEnding(state, preview)

/** Those of a runtime that has ended are closed. */
export const previewsOver = (state: State): State =>
  without(state, ({ generation }) => generation < state.generation || !["pending", "running"].includes(state.status!))

/** What keeps another one from being opened. */
const obstaclesTo = (state: State, { by, port, alongside }: DoesOf<"open">): ReadonlyArray<PreviewState> =>
  Object.entries(state.previews)
    .filter(([name, preview]) => name !== by && (!alongside || preview.port === port))
    .map(([, preview]) => preview)

/** Its port is free by now: those that were ending have ended. */
const taken = (state: State, does: DoesOf<"open">): Next => {
  const obstacles = obstaclesTo(state, does)
  if (!obstacles.every((preview) => isEnding(state, preview))) return []
  const { generation } = state
  return [
    withPreview(
      without(state, (preview) => obstacles.includes(preview)),
      does.by,
      { id: null, port: does.port, generation, is: "opening" }
    )
  ]
}

const served = (state: State, by: string, id: string | null): Next => {
  const preview = state.previews[by]
  if (preview === undefined || preview.generation !== state.generation || state.status !== "running") return []
  return [withPreview(state, by, { ...preview, id, is: "active" })]
}

/** One preview a Sandbox, or one a port. */
export const open: Step<"open"> = (state, does, answer, moment) => {
  const { by } = does
  const withdrawn = without(state, (_, name) => name === by)
  if (moment === 1) {
    if (answer === null) return [withdrawn, ...served(state, by, null)]
    return isOf(answer, "preview") && answer.port === does.port ? served(state, by, answer.id) : [withdrawn]
  }
  if (answer === null || isOf(answer, "preview")) return taken(state, does)
  if (!isOf(answer, "refused")) return []
  switch (answer.code) {
    case "PREVIEW_EXISTS":
      return when(obstaclesTo(state, does).length > 0, state)
    case "NETWORK_DISABLED":
      return when(state.status === "running" && !state.hasNetwork, state)
    case "PREVIEW_TRANSPORT_UNAVAILABLE":
      // Or it ended before this one was served.
      return [...when(withoutRuntime(answer).includes(state.status!), state), ...taken(state, does)]
    default:
      return refused(state, answer, [])
  }
}

const isOfId = ({ id }: PreviewState, seen: string) => id === null || id === seen

export const lookUp: Step<"lookUp"> = (state, { port }, answer) => {
  const known = Object.entries(state.previews).filter(([, preview]) => preview.port === port)
  if (isOf(answer, "preview")) {
    const { id } = answer
    return known
      .filter(([, preview]) => preview.is !== "opening" && isOfId(preview, id))
      .map(([by, preview]) => withPreview(state, by, { ...preview, id }))
  }
  if (!isOf(answer, "refused")) return []
  const isOpen = known.some(([, preview]) => isServed(state, preview))
  return when(answer.code === "NOT_FOUND" && (state.status === "deleted" || !isOpen), state)
}

export const previews: Step<"previews"> = (state, _, answer) => {
  if (!isOf(answer, "previews")) return answer === null ? [] : refused(state, answer, [])
  const known = Object.values(state.previews)
  const isAll = known.every((preview) => !isServed(state, preview) || answer.active.includes(preview.port))
  const isNoMore = answer.active.every((port) => known.some((one) => one.port === port && one.is !== "opening"))
  return when(isAll && isNoMore, state)
}

const closes = (
  state: State,
  answer: Answer | null,
  moment: number,
  isMeant: (preview: PreviewState) => boolean
): Next => {
  const isPending = isOf(answer, "refused") && answer.code === "CLEANUP_PENDING"
  if (answer !== null && !isOf(answer, "done") && !isPending) return refused(state, answer, [])
  const meant = Object.entries(state.previews).filter(([, preview]) => isMeant(preview))
  if (moment === 0) {
    return [meant.reduce((next, [by, preview]) => withPreview(next, by, { ...preview, is: "closing" }), state)]
  }
  return [isOf(answer, "done") ? without(state, (preview) => isMeant(preview) && preview.is === "closing") : state]
}

/** With its answer the host name is dead. */
export const close: Step<"close"> = (state, { id }, answer, moment) =>
  closes(state, answer, moment, (preview) => preview.id === id)

export const closeAll: Step<"closeAll"> = (state, _, answer, moment) =>
  closes(state, answer, moment, ({ is }) => is !== "opening")

/** A request through the host name comes into the Sandbox while the preview is served, and never into a later runtime. */
export const visit: Step<"visit"> = (state, { id }, answer) => {
  if (!isOf(answer, "visited")) return []
  const preview = Object.values(state.previews).find((one) => one.id === id)
  switch (answer.how) {
    case "failed":
      return [state]
    case "unknown":
      return when(preview === undefined || !isServed(state, preview), state)
    case "reached":
      return when(
        preview?.generation === state.generation && ["running", "stopping", "deleting"].includes(state.status!),
        state
      )
  }
}
