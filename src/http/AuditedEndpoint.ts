/**
 * What the audit log says of the calls of an endpoint: the action, what they are about, and their path with nothing secret in it.
 *
 * Worked out from the endpoint's own path, once for each endpoint. A segment of a request's path is shown only where an id of that form
 * belongs; anything else (a capability, a key that was pasted into a URL) is shown as its name in braces.
 */
import { Context, Schema } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { ReadOnly, ReadsContent } from "../../schemas/Access.ts"
import { type AuditTarget, gatewayActions, operatorCommands, unknownAction } from "../../schemas/Audit.ts"
import {
  ApiKeyId,
  EndpointId,
  OperationId,
  SandboxId,
  ServiceAccessId,
  SessionId,
  WorkspaceId
} from "../../schemas/Identifiers.ts"
import { ProcessId } from "../../schemas/Process.ts"
import { endpointNames } from "./Endpoints.ts"

interface Collection {
  readonly type: AuditTarget
  /** Null: what follows it is never shown. */
  readonly isId: ((segment: string) => boolean) | null
}

/** By the segment that stands before an id, or that something is posted to. */
const collections: Readonly<Record<string, Collection>> = {
  auth: { type: "apiKey", isId: null },
  workspaces: { type: "workspace", isId: Schema.is(WorkspaceId) },
  sandboxes: { type: "sandbox", isId: Schema.is(SandboxId) },
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
  /** False: it only gives out content. */
  readonly changes: boolean
  /** @param path A path that this endpoint was found by. */
  readonly read: (path: string) => AuditedPath
}

const changesSomething = (endpoint: HttpApiEndpoint.Top): boolean =>
  endpoint.method !== "GET" && !Context.get(endpoint.annotations, ReadOnly)

/** It changes something; or it gives out content, or what opens a Sandbox. */
const isAudited = (endpoint: HttpApiEndpoint.Top): boolean =>
  Context.get(endpoint.annotations, ReadsContent) || changesSomething(endpoint)

/** Null for one whose calls leave no event. */
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

/** All that an event's action can be, and the endpoints that leave none: to ask for those is no mistake of spelling. */
export const knownActions: ReadonlyArray<string> = [
  ...new Set([...endpointNames, ...gatewayActions, ...Object.keys(operatorCommands), unknownAction])
]
