/**
 * The contract of one Sandbox as a sequential program: for all that concurrent clients of the HTTP API see, some order of their calls, each at
 * one moment between its request and its answer, is a run of this program. Some calls have two moments, which happen in this order: they are
 * accepted, and later answered with what the Sandbox is by then.
 *
 * By subject: `sandbox.ts` (its life), `commands.ts`, `files.ts`, `previews.ts`, `snapshots.ts`, `rollbacks.ts`, `log.ts`. `State.ts` names the parts,
 * `refusals.ts` says what a refused call tells. `test/system/linear/` checks it against recorded clients of a real service.
 */
import type { Model } from "../../../../src/proofs/linear/Model.ts"
import { type Answer, type Does, type DoesType, isOf } from "../calls.ts"
import { callText } from "../callText.ts"
import { begin, cancel, commands, follow, look, output } from "./commands.ts"
import { archived, edit, execute, read, removeFile, write } from "./files.ts"
import { foresee } from "./foresight.ts"
import { listen, log, told } from "./log.ts"
import { close, closeAll, lookUp, open, previews, visit } from "./previews.ts"
import { isOutage } from "./refusals.ts"
import { acceptedIn, rollback, rollbackMoments, rollsOn } from "./rollbacks.ts"
import { keyOf, notMade, type State, type Step, stateText } from "./State.ts"
import { becomes, create, get, list, loses, patch, remove, start, stop } from "./sandbox.ts"
import { child, childRead, fork, snap, snapDelete, snapGet, snapPatch, snapshotsBecome } from "./snapshots.ts"

const steps: { readonly [T in DoesType]: Step<T> } = {
  ...{ create, get, list, patch, start, stop, delete: remove },
  ...{ begin, look, wait: look, cancel, commands, output, follow },
  ...{ write, edit, read, archived, remove: removeFile, execute },
  ...{ open, lookUp, previews, close, closeAll, visit },
  ...{ snap, snapGet, snapPatch, snapDelete, child, fork, childRead, rollback },
  ...{ log, listen, told }
}

const reads: ReadonlyArray<DoesType> = [
  ...(["get", "list", "log", "listen", "told"] as const),
  ...(["look", "wait", "commands", "output", "follow"] as const),
  ...(["read", "archived", "execute"] as const),
  ...(["lookUp", "previews", "visit"] as const),
  ...(["snapGet", "childRead"] as const)
]
const waits: ReadonlyArray<DoesType> = ["start", "stop", "delete"]
const ofTwoMoments: ReadonlyArray<DoesType> = [...waits, "open", "close", "closeAll", "snap", "snapDelete"]
/** Each begins with a look at the Sandbox. */
const looking: ReadonlyArray<DoesType> = ["snap", "fork"]
const momentsOf = (type: DoesType): number => {
  if (type === "rollback") return rollbackMoments
  return type === "fork" ? 3 : ofTwoMoments.includes(type) ? 2 : 1
}
/** A refusal may follow what was accepted. */
const mayBeAccepted = (type: DoesType): boolean => type === "rollback" || ofTwoMoments.includes(type)
/** Refusals after which something may be different. */
const telling = ["NOT_FOUND", "PREVIEW_TRANSPORT_UNAVAILABLE", "CLEANUP_PENDING"]

/** A call that its host did not answer: a start may have booted it before the host was lost, and all others have done nothing. */
const isOfSilentHost = (does: Does, answer: Answer | null): boolean =>
  isOf(answer, "refused") &&
  (["RUNTIME_UNAVAILABLE", "PREVIEW_TRANSPORT_UNAVAILABLE"].includes(answer.code) ||
    (does.type === "start" && answer.code === "SANDBOX_UNAVAILABLE"))

/** @param hostsEnd Hosts may be lost, and the runtimes on them. Otherwise no runtime ends by itself. */
export const contractOf = ({ hostsEnd }: { readonly hostsEnd: boolean }): Model<State, Does, Answer> => ({
  first: [notMade],
  step: (state, does, answer, moment) => {
    if (isOf(answer, "refused") && isOutage(answer)) return [state]
    const step = steps[does.type] as Step<DoesType>
    if (!hostsEnd || !isOfSilentHost(does, answer)) return step(state, does as never, answer, moment)
    return does.type === "start" ? [state, ...step(state, does as never, null, moment)] : [state]
  },
  silent: (state) => [
    ...becomes(state),
    ...snapshotsBecome(state),
    ...rollsOn(state),
    ...(hostsEnd ? loses(state) : [])
  ],
  moments: ({ type }) => momentsOf(type),
  isRead: (does, answer, moment) =>
    reads.includes(does.type) ||
    (moment === 1 && waits.includes(does.type)) ||
    (moment > acceptedIn && does.type === "rollback") ||
    // Of a lost call, too: a look that changes nothing must not keep the search from what follows it.
    (moment === 0 && looking.includes(does.type)) ||
    (moment < acceptedIn && does.type === "rollback") ||
    (answer?.is === "refused" &&
      !(telling.includes(answer.code) && mayBeAccepted(does.type)) &&
      !(hostsEnd && does.type === "start" && isOfSilentHost(does, answer))),
  foresee,
  keyOf,
  callText,
  stateText
})

export const contract = contractOf({ hostsEnd: false })
