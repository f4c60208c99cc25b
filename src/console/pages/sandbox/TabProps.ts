/** What each part of a Sandbox's page is given. */
import type { Sandbox } from "../../../../schemas/Sandbox.ts"

export interface TabProps {
  /** As it was last read; read anew with each of its transitions. */
  readonly sandbox: Sandbox
}
