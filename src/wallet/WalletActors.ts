/** The wallets of all accounts as actors. The first cost of an account creates its wallet. */

import { Clock, Context, Effect, Layer } from "effect"
import { walletMachine } from "../../machines/wallet.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { walletDefinition } from "./WalletDefinition.ts"

const cause = "wallet"

/** @param accountId `acc_…` */
const walletIdOf = (accountId: string): string => `wal_${accountId.slice("acc_".length)}`

export class WalletActors extends Context.Service<
  WalletActors,
  {
    /** Returns once it is stored that the account's wallet must ask the ledger again. */
    readonly changed: (accountId: string) => Effect.Effect<void>
  }
>()("atoll/wallet/WalletActors") {
  static readonly layer = Layer.effect(
    WalletActors,
    Effect.gen(function* () {
      const host = yield* ActorHost
      yield* host.register(yield* walletDefinition)

      const tell = (accountId: string) =>
        host.send(walletMachine, walletIdOf(accountId), { type: "CHANGED" }, { cause })

      /** A new wallet asks the ledger by itself. Null: another process has just created it. */
      const make = Effect.fnUntraced(function* (accountId: string) {
        return yield* host.create(walletMachine, {
          id: walletIdOf(accountId),
          accountId,
          // A wallet belongs to no Sandbox.
          sandboxId: "",
          input: { accountId, at: yield* Clock.currentTimeMillis },
          payload: null,
          cause,
          requestId: null,
          idempotency: null
        })
      })

      return WalletActors.of({
        changed: Effect.fn("WalletActors.changed")((accountId) =>
          tell(accountId).pipe(
            Effect.catchTag("ActorNotFound", () =>
              Effect.flatMap(make(accountId), (created) => (created !== null ? Effect.void : tell(accountId)))
            ),
            Effect.orDie,
            Effect.asVoid
          )
        )
      })
    })
  )
}
