/** All tools, in the order of the list. */
import { Context, Effect, Layer } from "effect"
import { commandTools } from "./commandTools.ts"
import { fileTools } from "./fileTools.ts"
import { imageTools } from "./imageTools.ts"
import { previewTools } from "./previewTools.ts"
import { sandboxTools } from "./sandboxTools.ts"
import { snapshotTools } from "./snapshotTools.ts"
import type { Tool } from "./Tool.ts"

export class Tools extends Context.Service<Tools, ReadonlyArray<Tool>>()("atoll/api/mcp/Tools") {
  /** Needs Sandboxes, Snapshots, Images, Workspaces, Operations, Files and Previews. */
  static readonly layer = Layer.effect(
    Tools,
    Effect.map(Effect.all([sandboxTools, snapshotTools, imageTools, commandTools, fileTools, previewTools]), (groups) =>
      groups.flat()
    )
  )
}
