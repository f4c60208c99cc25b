/** What happens to a Sandbox. `at`: epoch milliseconds. */
import type { Changeable } from "../schemas/contexts/Sandbox.ts"
import type { PublicReason } from "../schemas/PublicText.ts"

export type SandboxEvent =
  /** A client asks for a running runtime. */
  | { readonly type: "START"; readonly at: number }
  /** A client asks to end the runtime and keep the volume; or, with a reason, the service does by itself. */
  | { readonly type: "STOP"; readonly at: number; readonly reason?: PublicReason }
  /** A client asks to end the Sandbox and its volume. */
  | { readonly type: "DELETE"; readonly at: number }
  /**
   * A client asks for the volume of a snapshot in place of the present one. `rollbackId` names this request; `keptId`: the snapshot that the
   * present volume becomes first, null: it is given up.
   */
  | {
      readonly type: "ROLLBACK"
      readonly at: number
      readonly rollbackId: string
      readonly snapshotId: string
      readonly keptId: string | null
    }
  /** The volume is the snapshot's. */
  | { readonly type: "VOLUME_RESTORED"; readonly at: number; readonly generation: number }
  /** The volume is as it was, and stays so. */
  | {
      readonly type: "ROLLBACK_FAILED"
      readonly at: number
      readonly generation: number
      readonly reason: PublicReason
    }
  /** A client changes what it is called, labelled, given, allotted or ended by; what is absent stays. It speaks of the edition that it saw. */
  | { readonly type: "CHANGED"; readonly at: number; readonly edition: number; readonly changes: Partial<Changeable> }
  /** It has run for as long as its lifetime says. */
  | { readonly type: "STOP_DUE"; readonly at: number }
  /** It could have been idle for as long as its lifetime says. */
  | { readonly type: "IDLE_STOP_DUE"; readonly at: number }
  /** Somebody has used it since, last at `usedAt` (epoch milliseconds): not long enough ago. */
  | { readonly type: "WAS_USED"; readonly at: number; readonly idleStopAt: number; readonly usedAt: number }
  /** Nobody used it for as long as its lifetime says. */
  | { readonly type: "WAS_IDLE"; readonly at: number; readonly idleStopAt: number }
  /** It has been stopped for as long as its lifetime says. */
  | { readonly type: "DELETE_DUE"; readonly at: number }
  /** The instant of its next checkpoint has come. */
  | { readonly type: "CHECKPOINT_DUE"; readonly at: number }
  /** The snapshot that was asked for last is accepted; its capture may still fail. */
  | { readonly type: "CHECKPOINT_TAKEN"; readonly at: number; readonly snapshotId: string }
  /** A limit, or the Sandbox's state, allowed none. */
  | { readonly type: "CHECKPOINT_REFUSED"; readonly at: number; readonly reason: PublicReason }
  /** The service asks to freeze an idle runtime. */
  | { readonly type: "SLEEP"; readonly at: number }
  /** The runtime of this generation answers. */
  | { readonly type: "RUNTIME_UP"; readonly at: number; readonly generation: number }
  /** The host refuses the boot because of a limit. */
  | {
      readonly type: "RUNTIME_REFUSED"
      readonly at: number
      readonly generation: number
      readonly reason: PublicReason
    }
  /** The boot failed for good. */
  | { readonly type: "RUNTIME_FAILED"; readonly at: number; readonly generation: number; readonly reason: PublicReason }
  /** The runtime ended by itself; `seenAt` (epoch milliseconds) is the last moment at which it was seen alive, where that is known. */
  | {
      readonly type: "RUNTIME_DOWN"
      readonly at: number
      readonly generation: number
      readonly reason: PublicReason
      readonly seenAt?: number
    }
  /**
   * Its host is lost, and with it whatever this generation has there; `seenAt` (epoch milliseconds) is the last moment at which the host was
   * seen. Without a generation: whichever it has.
   */
  | {
      readonly type: "HOST_LOST"
      readonly at: number
      readonly generation?: number
      readonly reason: PublicReason
      readonly seenAt: number
    }
  /** A runtime of this Sandbox was found on the host, which nobody may have asked for. */
  | { readonly type: "RUNTIME_FOUND"; readonly at: number }
  /** The host holds the runtime up, with nothing lost. */
  | {
      readonly type: "RUNTIME_STALLED"
      readonly at: number
      readonly generation: number
      readonly reason: PublicReason
    }
  /** A runtime that was held up goes on. */
  | { readonly type: "RUNTIME_RESUMED"; readonly at: number; readonly generation: number }
  /** The runtime was ended as asked. */
  | { readonly type: "RUNTIME_STOPPED"; readonly at: number; readonly generation: number }
  /** The runtime could not be frozen, or not be seen to be. */
  | { readonly type: "SUSPEND_FAILED"; readonly at: number; readonly generation: number; readonly reason: PublicReason }
  /** Somebody used it, or uses it; before `until` (epoch milliseconds) it cannot have been idle for long enough. */
  | { readonly type: "IN_USE"; readonly at: number; readonly until: number }
  /** The instant that IN_USE named has come. */
  | { readonly type: "IDLE_DUE"; readonly at: number }
  /** Runtime and volume exist no more. */
  | { readonly type: "VOLUME_GONE"; readonly at: number }
  /** Its turn to boot at the host has not come yet, or only now: before `until` (epoch milliseconds) the boot is not too long. */
  | { readonly type: "BOOT_WAITS"; readonly at: number; readonly generation: number; readonly until: number }
  /** The deadline of a boot passed. */
  | { readonly type: "BOOT_TIMEOUT"; readonly at: number; readonly generation: number }
