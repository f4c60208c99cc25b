/** All machines, and how the contexts of their older versions are brought to the present one. */
import type { AnyStateMachine } from "xstate"
import { connectionGrantMachine } from "../../../machines/connectionGrant.ts"
import { hostMachine } from "../../../machines/host.ts"
import { imageMachine, imageOfThisVersion } from "../../../machines/image.ts"
import { operationMachine, presentCommand } from "../../../machines/operation.ts"
import { previewMachine } from "../../../machines/preview.ts"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import { ofThisVersion } from "../../../machines/sandboxVersions.ts"
import { serviceAccessMachine } from "../../../machines/serviceAccess.ts"
import { snapshotMachine, snapshotOfThisVersion } from "../../../machines/snapshot.ts"
import { walletMachine } from "../../../machines/wallet.ts"
import type { StoredSnapshot } from "../../store/JournalRecord.ts"

export interface HistoryKind {
  readonly machine: AnyStateMachine
  /** A stored snapshot of this or an older version of the machine, in this version's form. */
  readonly present: (stored: StoredSnapshot) => StoredSnapshot
  /** The present name of a command in the log of an older version; absent: none was renamed. */
  readonly presentCommand?: (value: string, command: string) => string
}

const unchanged = (stored: StoredSnapshot): StoredSnapshot => stored

const kinds: ReadonlyArray<HistoryKind> = [
  {
    machine: sandboxMachine,
    present: ({ value, context }) => ({ value, context: ofThisVersion(value, context as never) })
  },
  {
    machine: snapshotMachine,
    present: ({ value, context }) => ({ value, context: snapshotOfThisVersion(value, context as never) })
  },
  {
    machine: imageMachine,
    present: ({ value, context }) => ({ value, context: imageOfThisVersion(context as never) })
  },
  { machine: operationMachine, present: unchanged, presentCommand },
  ...[previewMachine, serviceAccessMachine, connectionGrantMachine, walletMachine, hostMachine].map(
    (machine: AnyStateMachine) => ({ machine, present: unchanged })
  )
]

/** By the machine's id, which is the actor's kind. */
export const historyKinds: ReadonlyMap<string, HistoryKind> = new Map(kinds.map((kind) => [kind.machine.id, kind]))
