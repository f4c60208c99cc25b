/** Parses what the operator writes: numbers, amounts and instants, exactly as written, or refused. */
import { Clock, Effect } from "effect"
import { parseInstant } from "../../../../schemas/Query.ts"
import { parseUsd } from "../../../wallet/Money.ts"
import { WrongUsage } from "./refusals.ts"

const wrong = (message: string) => Effect.fail(new WrongUsage({ message }))

/** A decimal number of dollars as micro-USD. */
export const usd = (flag: string, text: string): Effect.Effect<bigint, WrongUsage> => {
  const microUsd = parseUsd(text)
  return microUsd === null
    ? wrong(`${flag} takes dollars as a decimal with at most 6 places, such as 12.50, and not ${JSON.stringify(text)}.`)
    : Effect.succeed(microUsd)
}

/** At most 16 decimal digits. */
export const whole = (flag: string, text: string, maximum: bigint): Effect.Effect<bigint, WrongUsage> =>
  /^\d{1,16}$/.test(text) && BigInt(text) <= maximum
    ? Effect.succeed(BigInt(text))
    : wrong(`${flag} takes a whole number from 0 to ${maximum}, and not ${JSON.stringify(text)}.`)

/** Epoch milliseconds of an instant in the future. */
export const future = Effect.fnUntraced(function* (flag: string, text: string) {
  const at = parseInstant(text)
  if (at === null) {
    return yield* wrong(
      `${flag} takes an instant with a zone, such as 2027-01-31T12:00:00Z, and not ${JSON.stringify(text)}.`
    )
  }
  if (at <= (yield* Clock.currentTimeMillis)) return yield* wrong(`${flag} is past: ${new Date(at).toISOString()}.`)
  return at
})

/** A limit of an account; `setting`: that of the settings. */
export const limit = (flag: string, text: string, maximum: bigint): Effect.Effect<number | null, WrongUsage> =>
  text === "setting" ? Effect.succeed(null) : Effect.map(whole(flag, text, maximum), Number)

export const int4Max = 2n ** 31n - 1n
export const storageMax = BigInt(Number.MAX_SAFE_INTEGER)
