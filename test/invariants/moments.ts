/** What holds at every moment. */
import { firstOf, type MomentInvariant } from "./Moment.ts"

export const startsOnlyWaitForAnEnd: MomentInvariant = {
  sentence: "A start waits only while its Sandbox stops: a later stop is not taken for a restart.",
  broken: (moment) =>
    firstOf(moment, ({ id, kind, state, tags, context }) =>
      kind === "sandbox" && (tags.has("inhabited") || tags.has("startable")) && context.startRequested
        ? `${id} is ${state}, and a start waits.`
        : null
    )
}

export const runsEndOnlyWhileTheyRun: MomentInvariant = {
  sentence: "The end of a run is planned only while the Sandbox has a runtime.",
  broken: (moment) =>
    firstOf(moment, ({ id, kind, state, tags, context }) =>
      kind === "sandbox" && !tags.has("inhabited") && (context.upAt !== null || context.idleStopAt !== null)
        ? `${id} is ${state}, and its run shall end.`
        : null
    )
}

export const hostsAreCompared: MomentInvariant = {
  sentence: "A host carries Sandboxes, or is drained, only once its machines were compared with them.",
  broken: (moment) =>
    firstOf(moment, ({ id, kind, state, tags, context }) =>
      kind === "host" && (tags.has("startable") || tags.has("emptied")) && !context.isReconciled
        ? `${id} is ${state}, and was not compared.`
        : null
    )
}

export const hostsAreProven: MomentInvariant = {
  sentence: "A host is used only once its canary has booted there.",
  broken: (moment) =>
    firstOf(moment, ({ id, kind, state, tags, context }) =>
      kind === "host" && tags.has("startable") && !context.isProven ? `${id} is ${state}, and no canary booted.` : null
    )
}

const isClosedBy = (params: unknown, generation: number): boolean =>
  (params as { readonly generation: number }).generation >= generation

/**
 * Its own command finds out, where it has one that looks. What is usable without a command has only its Sandbox to learn from.
 */
export const nothingOutlivesItsGeneration: MomentInvariant = {
  sentence:
    "A preview, access or grant is usable only while its generation lives, or its Sandbox is about to close it.",
  broken: (moment) =>
    firstOf(moment, ({ id, tags, context, commands }) => {
      if (!tags.has("usable") || commands.length > 0 || context.generation === undefined) return null
      const sandbox = moment.actors.find(({ kind, id }) => kind === "sandbox" && id === context.sandboxId)
      if (sandbox === undefined) return null
      const { generation } = sandbox.context
      if (sandbox.tags.has("inhabited") && generation === context.generation) return null
      const closes = sandbox.commands.some(
        ({ type, params }) => type === "closeDependents" && isClosedBy(params, context.generation)
      )
      return closes
        ? null
        : `${id} is usable in generation ${context.generation}, and ${sandbox.id} is ${sandbox.state} in ${generation}.`
    })
}

export const everyMoment: ReadonlyArray<MomentInvariant> = [
  startsOnlyWaitForAnEnd,
  runsEndOnlyWhileTheyRun,
  hostsAreCompared,
  hostsAreProven,
  nothingOutlivesItsGeneration
]
