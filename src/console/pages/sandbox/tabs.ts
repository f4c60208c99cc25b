/** The parts of a Sandbox's page, each at an address of its own: `/sandboxes/{id}/{name}`, and the first one without its name. */
import type { FunctionComponent } from "preact"
import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import { Life } from "./Life.tsx"
import type { FollowedLife } from "./useLife.ts"

export interface TabProps {
  /** As it was last read; read anew with each of its transitions. */
  readonly sandbox: Sandbox
  readonly life: FollowedLife
}

export interface Tab {
  readonly name: string
  readonly title: string
  readonly Tab: FunctionComponent<TabProps>
}

/** In the order in which they are offered. Whatever is large is fetched when it is first shown (`ui/Lazy.tsx`). */
export const tabs: ReadonlyArray<Tab> = [{ name: "life", title: "Life", Tab: Life }]
