/** The command `meter` of a Sandbox or of a snapshot: posts what its log says, and tells the account's wallet. */
import { Effect } from "effect"
import { Ledger } from "./Ledger.ts"
import { WalletActors } from "./WalletActors.ts"

export const metering = Effect.gen(function* () {
  const ledger = yield* Ledger
  const wallets = yield* WalletActors
  /** What never ran or was never ready has no cost. */
  return (id: string) =>
    ledger.foldSandbox(id).pipe(
      Effect.flatMap((folded) => (folded === null ? Effect.void : wallets.changed(folded.accountId))),
      Effect.as(null)
    )
})
