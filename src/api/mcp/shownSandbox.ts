/** A Sandbox as tools answer it. */
import { Schema } from "effect"
import { Sandbox } from "../../../schemas/Sandbox.ts"

/** The facts about a Sandbox that a model needs: each word costs tokens. */
export const ShownSandbox = Schema.Struct({
  id: Sandbox.fields.id.annotate({ description: "The sandboxId of all other tools." }),
  workspaceId: Sandbox.fields.workspaceId,
  name: Sandbox.fields.name,
  status: Sandbox.fields.status,
  statusReason: Sandbox.fields.statusReason,
  runtime: Sandbox.fields.runtime,
  networkEnabled: Sandbox.fields.networkEnabled,
  metadata: Sandbox.fields.metadata,
  createdAt: Sandbox.fields.createdAt
})

export const shownSandbox = (sandbox: Sandbox): typeof ShownSandbox.Type => {
  const { id, workspaceId, name, status, statusReason, runtime, networkEnabled, metadata, createdAt } = sandbox
  return { id, workspaceId, name, status, statusReason, runtime, networkEnabled, metadata, createdAt }
}
