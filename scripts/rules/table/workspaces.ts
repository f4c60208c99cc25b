import type { Section } from "../Rule.ts"

export const workspaces: Section = {
  title: "Workspaces",
  rules: [
    {
      rule: "A new workspace is empty.",
      decidedBy: "src/account/workspace/Workspaces.ts#Workspaces.layer.insert",
      heldBy:
        "http/workspaces.test.ts#a workspace is created empty, listed newest first, and counts its Sandboxes and their volumes"
    },
    {
      rule: "A name has 1 to 128 characters.",
      decidedBy: "schemas/Limits.ts#nameMaxCharacters",
      heldBy: "http/workspaces.test.ts#a name has 1 to 128 characters of any kind"
    },
    {
      rule: "A repeated key replays the original response; another body is 409.",
      decidedBy: "src/account/idempotency/Idempotency.ts#once",
      heldBy:
        "http/workspaces.test.ts#a repeated key replays the original answer; with another body it is a conflict; another account has its own keys"
    },
    {
      rule: "An account has at most 10 workspaces (its own limit may differ): 409 `WORKSPACE_QUOTA_EXCEEDED`, also under concurrent creates.",
      decidedBy: "src/account/workspace/Workspaces.ts#Workspaces.layer.insert",
      heldBy:
        "http/workspaces.test.ts#the quota holds for concurrent creates over two processes; a replay still answers, and a refused key is free",
      question: "Where is the quota of workspaces decided?"
    },
    {
      rule: "Reading, renaming and deleting need separate scopes: `workspace:create` does not grant deletion.",
      decidedBy: "schemas/Workspace.ts#WorkspacesGroup",
      heldBy:
        "http/workspaces.test.ts#only its account reads and renames a workspace; a read-only key can neither rename nor delete it"
    },
    {
      rule: "Only an empty workspace is deleted, else 409 `WORKSPACE_NOT_EMPTY`.",
      decidedBy: "src/account/workspace/Workspaces.ts#Workspaces.layer.remove",
      heldBy:
        "http/workspaces.test.ts#only an empty workspace is deleted; that frees its quota, and its key still replays"
    }
  ]
}
