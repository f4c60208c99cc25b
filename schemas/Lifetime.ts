/** What ends a Sandbox by itself. */
import { Schema } from "effect"
import { lifetimeMaxSeconds } from "./Limits.ts"
import { Timestamp } from "./Text.ts"

const lifetimeSeconds = (minimum: number) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum: lifetimeMaxSeconds }))

const stopAfter =
  "It is stopped when it has run for so many seconds, counted from its boot; time that it slept counts, and a later boot starts the count again."
const stopAfterIdle =
  "It is stopped when it has not been used for so many seconds. A use is a command, a file call, a terminal, and a connection of a preview, a tunnel or SSH, for as long as it lasts. A boot and a waking count as one. So does a restart of the service, which may forget uses before it: it is never stopped sooner, only later; so it is, by up to 15 s, where the service is several processes."
const deleteAfterStopped =
  "It is deleted with its volume when it has been stopped for so many seconds (by its lifetime, by a client, or at the end of the account's credit), or failed for so long. 0: immediately."

const secondsOrNull = (description: string) => Schema.NullOr(Schema.Int).annotate({ description })
const instantOrNull = (description: string) => Schema.NullOr(Timestamp).annotate({ description })

export const SandboxLifetime = Schema.Struct({
  stopAfterSeconds: secondsOrNull(`${stopAfter} null: never.`),
  stopAfterIdleSeconds: secondsOrNull(`${stopAfterIdle} null: never.`),
  deleteAfterStoppedSeconds: secondsOrNull(`${deleteAfterStopped} null: never.`),
  stopAt: instantOrNull(
    "When stopAfterSeconds stops it; null while it does not run or sleep, or where nothing is set."
  ),
  idleStopAt: instantOrNull(
    "When stopAfterIdleSeconds stops it at the earliest: it is then looked at, and where it was used since, this moves on. null while it does not run or sleep, or where nothing is set."
  ),
  deleteAt: instantOrNull(
    "When deleteAfterStoppedSeconds deletes it; null while it is neither stopped nor failed, or where nothing is set."
  )
}).annotate({
  identifier: "SandboxLifetime",
  description:
    "What ends it by itself, and when. The deadlines are durable: a restart of the service moves none but idleStopAt. A Sandbox that was stopped so says it in statusReason: `LIFETIME_ENDED`, `IDLE_TOO_LONG`."
})

const lifetimeFields = {
  stopAfterSeconds: Schema.optionalKey(Schema.NullOr(lifetimeSeconds(1)).annotate({ description: stopAfter })),
  stopAfterIdleSeconds: Schema.optionalKey(Schema.NullOr(lifetimeSeconds(1)).annotate({ description: stopAfterIdle })),
  deleteAfterStoppedSeconds: Schema.optionalKey(
    Schema.NullOr(lifetimeSeconds(0)).annotate({ description: deleteAfterStopped })
  )
}

export const GivenLifetime = Schema.Struct(lifetimeFields)
