/**
 * 402: refuses requests of accounts without credit.
 *
 * Every request has the planned instant from its key (Authentication.ts), so the check costs nothing. An exhaustion takes effect at
 * its instant, even if no process was running to record it.
 * @source contract-details.md "Usage and credit"
 */
import { Clock, Effect } from "effect"
import { CreditExhausted } from "../../schemas/Errors.ts"

/** @param exhaustedAt Epoch milliseconds; null: no end of the credit is planned. */
export const requireCredit = (exhaustedAt: number | null): Effect.Effect<void, CreditExhausted> =>
  exhaustedAt === null
    ? Effect.void
    : Effect.flatMap(Clock.currentTimeMillis, (now) =>
        now < exhaustedAt ? Effect.void : Effect.fail(new CreditExhausted())
      )
