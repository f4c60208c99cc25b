/** `atoll histories verify` */
import { Clock, Effect } from "effect"
import { Command } from "effect/cli"
import { Refused } from "../console/server/operating/refusals.ts"
import { counted } from "../console/server/operating/usageActs.ts"
import { type HistoriesFound, type HistoriesProgress, verifyHistories } from "../ops/histories/verifyHistories.ts"
import { MaintenanceDatabase } from "../store/Database.ts"
import { answer, remark } from "./answer.ts"
import { table } from "./table.ts"

const tellEveryMs = 5000

/** How far it is, how fast, and when it ends by the database's estimate. */
const progressLine = ({ transitions, transitionsAbout }: HistoriesProgress, tookMs: number): string => {
  const perSecond = Math.round((transitions / Math.max(tookMs, 1)) * 1000)
  const left = Math.max(transitionsAbout - transitions, 0)
  const end = transitionsAbout === 0 ? "" : `, about ${Math.ceil(left / Math.max(perSecond, 1))} s left`
  return `${transitions} of about ${transitionsAbout} transitions, ${perSecond} a second${end}`
}

const proseOf = (found: HistoriesFound, summary: string): string => {
  const { differences, differencesCount } = found
  if (differencesCount === 0) return summary
  const more = differencesCount - differences.length
  return [
    summary,
    table(
      ["ACTOR", "KIND", "VERSION", "DIFFERENCE"],
      differences.map(({ actorId, kind, machineVersion, difference }) => [
        actorId,
        kind,
        String(machineVersion),
        difference
      ])
    ),
    ...(more > 0 ? [`and ${more} more`] : [])
  ].join("\n")
}

const faultOf = ({ differencesCount, orphans }: HistoriesFound): string | null =>
  differencesCount === 0 && orphans === 0
    ? null
    : [
        ...(differencesCount === 0 ? [] : [`${counted(differencesCount, "actor")} would differ under this version.`]),
        ...(orphans === 0 ? [] : [`${counted(orphans, "transition of no actor", "transitions of no actor")}.`])
      ].join(" ")

const verify = Command.make(
  "verify",
  {},
  Effect.fnUntraced(function* () {
    const begun = yield* Clock.currentTimeMillis
    let toldAt = begun
    const found = yield* verifyHistories(yield* MaintenanceDatabase, (done) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        if (now - toldAt < tellEveryMs) return
        toldAt = now
        yield* remark(progressLine(done, now - begun))
      })
    )
    const tookMs = Math.max((yield* Clock.currentTimeMillis) - begun, 1)
    const fault = faultOf(found)
    const summary = [
      `${counted(found.transitions, "transition")} of ${counted(found.actors, "actor")} folded in ${(tookMs / 1000).toFixed(1)} s.`,
      ...(fault === null ? ["Each ends in the stored state."] : [])
    ].join(" ")
    yield* answer(proseOf(found, summary), { ...found, tookMs })
    if (fault !== null) yield* new Refused({ message: fault })
  })
).pipe(
  Command.withDescription(
    "Fold the log of every Sandbox, Operation and other actor through the machines of this version, and compare with the stored states. Changes nothing, and may run beside a service, also one of an older version: run it before an upgrade"
  )
)

export const histories = Command.make("histories").pipe(
  Command.withDescription("Check the logs against this version's machines"),
  Command.withSubcommands([verify])
)
