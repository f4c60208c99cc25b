/** Tools that make, list, start and end Sandboxes. */

import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { NotFound } from "../../../schemas/Errors.ts"
import { SandboxId } from "../../../schemas/Identifiers.ts"
import { Cursor, NextCursor } from "../../../schemas/Query.ts"
import { CreateSandboxRequest } from "../../../schemas/Sandbox.ts"
import { SandboxStatus, sandboxStatuses } from "../../../schemas/SandboxStatus.ts"
import { fingerprint } from "../../account/idempotency/Fingerprint.ts"
import { Workspaces } from "../../account/workspace/Workspaces.ts"
import { Sandboxes } from "../../sandbox/Sandboxes.ts"
import { isBroken, isRemoved } from "../../sandbox/sandboxStates.ts"
import { ShownSandbox, shownSandbox } from "./shownSandbox.ts"
import { defineTool, type Tool, type ToolCaller } from "./Tool.ts"
import { idempotencyKey } from "./toolFields.ts"

const listedDefault = 20
const listedMax = 100
const workspaceName = "Sandboxes of agents"

const One = Schema.Struct({ sandbox: ShownSandbox })
const sandboxInput = Schema.Struct({ sandboxId: SandboxId })

const { workspaceId: _, ...createFields } = CreateSandboxRequest.fields

const createInput = Schema.Struct({
  workspaceId: Schema.optionalKey(
    CreateSandboxRequest.fields.workspaceId.annotate({
      description: "The workspace of the Sandbox. By default the account's oldest; if there is none, it is created."
    })
  ),
  ...createFields,
  idempotencyKey: idempotencyKey("the same Sandbox")
})

const isLive = (status: SandboxStatus): boolean => !isRemoved(status) && !isBroken(status)

export const defaultWorkspace = Effect.fnUntraced(function* (
  workspaces: Workspaces["Service"],
  { accountId, scopes }: ToolCaller
) {
  const oldest = (yield* workspaces.list(accountId)).at(-1)
  if (oldest !== undefined) return oldest.id
  if (!scopes.has("workspace:create")) {
    return yield* new NotFound({
      message:
        "The account has no workspace for the Sandbox, and this API key may not create one: create one in the console, or use a key with the scope workspace:create."
    })
  }
  const request = { name: workspaceName }
  const made = yield* workspaces.create({
    accountId,
    idempotencyKey: randomUUID(),
    fingerprint: fingerprint("POST", "/mcp", JSON.stringify(request)),
    request
  })
  return made.id
})

const createTool = (sandboxes: Sandboxes["Service"], workspaces: Workspaces["Service"]): Tool =>
  defineTool({
    name: "create_sandbox",
    title: "Create a Sandbox",
    description:
      "Creates an isolated Linux computer with a volume at /workspace, and waits up to 30 s until it runs. It stays until it is deleted (or its lifetime ends), also when the connection is lost: reuse its id. If status is still pending, check again with list_sandboxes.",
    action: "createSandbox",
    hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    input: createInput,
    output: One,
    call: ({ idempotencyKey: key, workspaceId, ...request }, caller) =>
      Effect.gen(function* () {
        const { sandbox } = yield* sandboxes.create({
          accountId: caller.accountId,
          requestId: caller.requestId,
          idempotencyKey: key ?? randomUUID(),
          // A repetition may find another oldest workspace.
          fingerprint: fingerprint("POST", "/mcp", JSON.stringify({ ...request, workspaceId: workspaceId ?? null })),
          request: { ...request, workspaceId: workspaceId ?? (yield* defaultWorkspace(workspaces, caller)) },
          wait: "running"
        })
        caller.made(sandbox.id)
        return { sandbox: shownSandbox(sandbox) }
      }).pipe(Effect.uninterruptible)
  })

const listTool = (sandboxes: Sandboxes["Service"]): Tool =>
  defineTool({
    name: "list_sandboxes",
    title: "List Sandboxes",
    description: "Lists the account's Sandboxes, newest first. By default only those that can be used or started.",
    action: "listSandboxes",
    hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: Schema.Struct({
      status: Schema.optionalKey(
        Schema.Array(SandboxStatus).check(Schema.isBetweenLength(1, sandboxStatuses.length)).annotate({
          description: "Only those in one of these states. By default all but deleted, expired and failed ones."
        })
      ),
      limit: Schema.optionalKey(
        Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: listedMax })).annotate({
          description: `Maximum entries of the answer. By default ${listedDefault}.`
        })
      ),
      cursor: Schema.optionalKey(Cursor)
    }),
    output: Schema.Struct({ sandboxes: Schema.Array(ShownSandbox), nextCursor: NextCursor }),
    call: ({ status, limit, cursor }, { accountId }) =>
      Effect.map(
        sandboxes.list(accountId, {
          status: status ?? sandboxStatuses.filter(isLive),
          workspaceId: null,
          metadata: {},
          limit: limit ?? listedDefault,
          cursor: cursor ?? null
        }),
        (page) => ({ sandboxes: page.sandboxes.map(shownSandbox), nextCursor: page.nextCursor })
      )
  })

const startTool = (sandboxes: Sandboxes["Service"]): Tool =>
  defineTool({
    name: "start_sandbox",
    title: "Start a Sandbox",
    description: "Boots a stopped or sleeping Sandbox with its volume, and waits up to 30 s until it runs.",
    action: "startSandbox",
    hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: sandboxInput,
    output: One,
    call: ({ sandboxId }, { accountId, requestId, exhaustedAt }) =>
      Effect.map(
        sandboxes.start(accountId, sandboxId, { requestId, exhaustedAt, idempotencyKey: null, wait: "running" }),
        (sandbox) => ({ sandbox: shownSandbox(sandbox) })
      ).pipe(Effect.uninterruptible)
  })

const stopTool = (sandboxes: Sandboxes["Service"]): Tool =>
  defineTool({
    name: "stop_sandbox",
    title: "Stop a Sandbox",
    description:
      "Ends all processes in a Sandbox. Its volume, and so /workspace, is kept; start_sandbox boots it again.",
    action: "stopSandbox",
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    input: sandboxInput,
    output: One,
    call: ({ sandboxId }, { accountId, requestId }) =>
      Effect.map(sandboxes.stop(accountId, sandboxId, { requestId }), (sandbox) => ({
        sandbox: shownSandbox(sandbox)
      })).pipe(Effect.uninterruptible)
  })

const deleteTool = (sandboxes: Sandboxes["Service"]): Tool =>
  defineTool({
    name: "delete_sandbox",
    title: "Delete a Sandbox",
    description: "Permanently deletes a Sandbox with its volume and all files in it.",
    action: "deleteSandbox",
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    input: sandboxInput,
    output: Schema.Struct({
      sandboxId: SandboxId,
      deleted: Schema.Literal(true).annotate({ description: "The deletion is stored and cannot be undone." })
    }),
    call: ({ sandboxId }, { accountId, requestId }) =>
      Effect.as(sandboxes.remove(accountId, sandboxId, { requestId }), { sandboxId, deleted: true as const }).pipe(
        Effect.uninterruptible
      )
  })

export const sandboxTools = Effect.gen(function* () {
  const sandboxes = yield* Sandboxes
  const workspaces = yield* Workspaces
  return [
    createTool(sandboxes, workspaces),
    listTool(sandboxes),
    startTool(sandboxes),
    stopTool(sandboxes),
    deleteTool(sandboxes)
  ]
})
