/** What holds between a moment and each later one. */
import type { ChangeInvariant } from "./Moment.ts"

const resultOf = ({ exitCode, signal, reason, finishedAt }: ActorContext) =>
  JSON.stringify([exitCode, signal, reason?.code ?? null, finishedAt])

interface ActorContext {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly reason: { readonly code: string } | null
  readonly finishedAt: number | null
}

export const oneTerminalResult: ChangeInvariant = {
  sentence: "An operation has exactly one terminal result, which never changes.",
  broken: (before, after) => {
    if (before.kind !== "operation" || !before.tags.has("terminal")) return null
    const [was, is] = [before, after].map(({ state, context }) => `${state} ${resultOf(context)}`)
    return was === is ? null : `${before.id} was ${was}, and is ${is}.`
  }
}

export const deleteWins: ChangeInvariant = {
  sentence: "Delete wins: nothing leads back from a deletion.",
  broken: (before, after) => {
    if (before.kind !== "sandbox") return null
    const isDeleted = before.tags.has("volumeless") && !before.tags.has("ended")
    const staysDeleted = after.tags.has("volumeless") && (after.tags.has("gone") || !after.tags.has("ended"))
    const isBack = (isDeleted && !staysDeleted) || (before.tags.has("gone") && !after.tags.has("gone"))
    return isBack ? `${before.id} was ${before.state}, and is ${after.state}.` : null
  }
}

export const generationsOnlyGrow: ChangeInvariant = {
  sentence: "A Sandbox's generation never goes back.",
  broken: (before, after) =>
    before.kind === "sandbox" && after.context.generation < before.context.generation
      ? `${before.id} was in generation ${before.context.generation}, and is in ${after.context.generation}.`
      : null
}

export const generationsOfDependentsStay: ChangeInvariant = {
  sentence: "What lives in a generation of a Sandbox never moves to another.",
  broken: (before, after) =>
    !["sandbox", "host", "wallet", "snapshot"].includes(before.kind) &&
    after.context.generation !== before.context.generation
      ? `${before.id} moved from generation ${before.context.generation} to ${after.context.generation}.`
      : null
}

export const whatIsOverStaysOver: ChangeInvariant = {
  sentence: "A preview, access or grant that is over stays over.",
  broken: (before, after) =>
    before.tags.has("over") && before.state !== after.state
      ? `${before.id} was ${before.state}, and is ${after.state}.`
      : null
}

export const everyChange: ReadonlyArray<ChangeInvariant> = [
  oneTerminalResult,
  deleteWins,
  generationsOnlyGrow,
  generationsOfDependentsStay,
  whatIsOverStaysOver
]
