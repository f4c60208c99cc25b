/** The properties of each tab of a Sandbox's page. */
import type { Sandbox } from "../../../../schemas/Sandbox.ts"

export interface TabProps {
  /** As last loaded; each of its transitions loads it again. */
  readonly sandbox: Sandbox
}
