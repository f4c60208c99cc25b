/** The tabs of a Sandbox's page, each with its own address: `/sandboxes/{id}/{name}`; the first one without a name. */
import type { FunctionComponent } from "preact"
import { lazy } from "../ui/Lazy.tsx"
import type { TabProps } from "./TabProps.ts"

export interface Tab {
  readonly name: string
  readonly title: string
  readonly Tab: FunctionComponent<TabProps>
}

/** In display order. Each is loaded when it is first shown (`ui/Lazy.tsx`). */
export const tabs: ReadonlyArray<Tab> = [
  { name: "life", title: "Life", Tab: lazy("life", async () => (await import("./SandboxLife.tsx")).SandboxLife) },
  {
    name: "commands",
    title: "Commands",
    Tab: lazy("commands", async () => (await import("./commands/Commands.tsx")).Commands)
  },
  { name: "logs", title: "Logs", Tab: lazy("logs", async () => (await import("./logs/Logs.tsx")).Logs) },
  { name: "files", title: "Files", Tab: lazy("files", async () => (await import("./files/Files.tsx")).Files) },
  {
    name: "terminal",
    title: "Terminal",
    Tab: lazy("terminal", async () => (await import("./terminal/Terminal.tsx")).Terminal)
  },
  {
    name: "previews",
    title: "Previews",
    Tab: lazy("previews", async () => (await import("./previews/Previews.tsx")).Previews)
  },
  {
    name: "snapshots",
    title: "Snapshots",
    Tab: lazy("snapshots", async () => (await import("./snapshots/SandboxSnapshots.tsx")).SandboxSnapshots)
  },
  {
    name: "resources",
    title: "Resources",
    Tab: lazy("resources", async () => (await import("./resources/Resources.tsx")).Resources)
  },
  { name: "cost", title: "Cost", Tab: lazy("cost", async () => (await import("./cost/Cost.tsx")).Cost) }
]
