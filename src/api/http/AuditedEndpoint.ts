/**
 * What the audit log records of an endpoint's calls: the action, its target, and the path without secrets.
 *
 * It is derived from the endpoint's own path, once for each endpoint. A segment of a request's path is shown only if it is an id of the expected
 * form; anything else (a capability, a key pasted into a URL) is shown as its name in braces.
 */
import { Context, Schema } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { ReadOnly, ReadsContent } from "../../../schemas/Access.ts"
import { type AuditTarget, gatewayActions, operatorCommands, unknownAction } from "../../../schemas/Audit.ts"
import {
  ApiKeyId,
  EndpointId,
  ImageId,
  OperationId,
  SandboxId,
  ServiceAccessId,
  SessionId,
  SnapshotId,
  WorkspaceId
} from "../../../schemas/Identifiers.ts"
import { ProcessId } from "../../../schemas/Process.ts"
import { endpointNames } from "./Endpoints.ts"

interface Collection {
  readonly type: AuditTarget
  /** Null: the following segment is never shown. */
  readonly isId: ((segment: string) => boolean) | null
}

/** By the segment before an id, or the one that is posted to. */
const collections: Readonly<Record<string, Collection>> = {
  auth: { type: "apiKey", isId: null },
  workspaces: { type: "workspace", isId: Schema.is(WorkspaceId) },
  sandboxes: { type: "sandbox", isId: Schema.is(SandboxId) },
  images: { type: "image", isId: Schema.is(ImageId) },
  snapshots: { type: "snapshot", isId: Schema.is(SnapshotId) },
  operations: { type: "operation", isId: Schema.is(OperationId) },
  processes: { type: "process", isId: Schema.is(ProcessId) },
  // A preview's id is a capability.
  previews: { type: "preview", isId: null },
  services: { type: "serviceAccess", isId: Schema.is(ServiceAccessId) },
  register: { type: "account", isId: null },
  passphrase: { type: "account", isId: null },
  sessions: { type: "session", isId: Schema.is(SessionId) },
  keys: { type: "apiKey", isId: Schema.is(ApiKeyId) },
  "cooperative-connection": { type: "connectionGrant", isId: Schema.is(EndpointId) }
}

export interface AuditedPath {
  readonly path: string
  readonly sandboxId: string | null
  readonly targetType: AuditTarget | null
  readonly targetId: string | null
}

export interface AuditedEndpoint {
  readonly action: string
  /** False: it only returns content. */
  readonly changes: boolean
  /** @param path A path that was routed to this endpoint. */
  readonly read: (path: string) => AuditedPath
}

const changesSomething = (endpoint: HttpApiEndpoint.Top): boolean =>
  endpoint.method !== "GET" && !Context.get(endpoint.annotations, ReadOnly)

/** True if it changes something, or returns content or access to a Sandbox. */
const isAudited = (endpoint: HttpApiEndpoint.Top): boolean =>
  Context.get(endpoint.annotations, ReadsContent) || changesSomething(endpoint)

/** Null: calls of this endpoint leave no event. */
export const auditedEndpoint = (endpoint: HttpApiEndpoint.Top): AuditedEndpoint | null => {
  if (!isAudited(endpoint)) return null
  const template = endpoint.path.split("/")
  const collectionAt = (at: number): Collection | undefined => collections[template[at] ?? ""]
  const targetAt = template.findLastIndex((_, at) => collectionAt(at) !== undefined)
  const target = collectionAt(targetAt)?.type ?? null
  return {
    action: endpoint.identifier,
    changes: changesSomething(endpoint),
    read: (path) => {
      const given = path.split("/")
      const idAt = (at: number): string | null => {
        const segment = template[at]?.startsWith(":") ? given[at] : undefined
        return segment !== undefined && collectionAt(at - 1)?.isId?.(segment) ? segment : null
      }
      const shown = template.map((word, at) => (word.startsWith(":") ? (idAt(at) ?? `{${word.slice(1)}}`) : word))
      return {
        path: shown.join("/"),
        sandboxId: idAt(template.indexOf("sandboxes") + 1),
        targetType: target,
        targetId: idAt(targetAt + 1)
      }
    }
  }
}

/** All possible actions of events, and endpoints without events: a filter by those is not a misspelling. */
export const knownActions: ReadonlyArray<string> = [
  ...new Set([...endpointNames, ...gatewayActions, ...Object.keys(operatorCommands), unknownAction])
]
