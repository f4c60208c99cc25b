/** Mistakes that were once made by hand, and that no test saw: most of them between two instants. Each is more than one change of the configuration. */
import { assign } from "xstate"
import { hostMachine } from "../../../machines/host.ts"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import { walletMachine } from "../../../machines/wallet.ts"
import type { HostContext } from "../../../schemas/contexts/Host.ts"
import type { WalletContext } from "../../../schemas/contexts/Wallet.ts"
import { assigned, writesOf } from "../../support/machines/watchedMachine.ts"
import { changed, type Mutant } from "./Mutant.ts"

interface Args<C> {
  readonly context: C
  readonly event: Readonly<Record<string, unknown>>
}

const anywhere = { state: null, event: null }

export const byHand: ReadonlyArray<Mutant> = [
  {
    ...anywhere,
    id: "sandbox: a later generation keeps the start that was asked for",
    make: () =>
      changed(sandboxMachine, ({ actions }) => {
        const writes = writesOf(actions["noteNextGeneration"])!
        actions["noteNextGeneration"] = assigned(writes, ({ startRequested: _, ...rest }) => rest)
      })
  },
  {
    ...anywhere,
    id: "sandbox: a boot that waits keeps its deadline",
    make: () =>
      changed(sandboxMachine, ({ states }) => {
        states["pending"]!.on["BOOT_WAITS"]![0]!.actions = []
      })
  },
  {
    ...anywhere,
    id: "sandbox: a change of a stopped one counts as its stop",
    make: () =>
      changed(sandboxMachine, ({ states }) => {
        states["stopped"]!.on["CHANGED"]![0]!.actions.unshift({ type: "noteTime" })
      })
  },
  {
    ...anywhere,
    id: "host: one that was not compared goes back to draining",
    make: () =>
      changed(hostMachine, ({ guards }) => {
        const holds = guards["comesBackTo"]!
        guards["comesBackTo"] = (args, params) => {
          const { wish } = (args as Args<HostContext>).context
          return (params as { readonly state: string }).state === "draining" ? wish === "draining" : holds(args, params)
        }
      })
  },
  {
    ...anywhere,
    id: "wallet: the grace of a suspended account counts",
    make: () =>
      changed(walletMachine, ({ actions }) => {
        const writes = writesOf(actions["noteFigures"])!
        actions["noteFigures"] = assign((({ context, event }: Args<WalletContext>) => {
          const written = writes({ context, event }, undefined)
          const { stopAt } = writes({ context, event: { ...event, suspendedAt: null } }, undefined)
          return { ...written, stopAt: stopAt ?? written["stopAt"] }
        }) as never)
      })
  },
  {
    ...anywhere,
    id: "wallet: what changed while the ledger was asked is not asked again",
    make: () =>
      changed(walletMachine, ({ states }) => {
        for (const { actions } of Object.values(states).flatMap(({ on }) => on["RECKONED"]!)) {
          actions[1] = {
            type: "schedule",
            params: ({ context: { nextAt } }: Args<WalletContext>) => ({
              name: "due",
              at: nextAt,
              event: { type: "DUE" }
            })
          }
        }
      })
  }
]
