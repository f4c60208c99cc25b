/**
 * 402: what an account without credit may not do.
 *
 * Every request brings the planned instant along with its key (Authentication.ts), so asking costs nothing, and an exhaustion holds from
 * its instant on, whether or not anything was awake to note it.
 *
 * @source contract-details.md "Usage and credit"
 */
import { Clock, Effect } from "effect"
import { CreditExhausted } from "../../schemas/Errors.ts"

/** @param exhaustedAt Epoch milliseconds; null: no end of the credit is in sight. */
export const requireCredit = (exhaustedAt: number | null): Effect.Effect<void, CreditExhausted> =>
  exhaustedAt === null
    ? Effect.void
    : Effect.flatMap(Clock.currentTimeMillis, (now) =>
        now < exhaustedAt ? Effect.void : Effect.fail(new CreditExhausted())
      )
