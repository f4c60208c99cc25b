/** A workspace holds Sandboxes, and bounds the sum of their volumes. */
import type { Workspace } from "./generated/schemas.ts"
import { randomKey } from "./http/randomKey.ts"
import type { Transport } from "./http/Transport.ts"
import type { Waiting } from "./Waiting.ts"

export class Workspaces {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async list(options: Waiting = {}): Promise<ReadonlyArray<Workspace>> {
    return (await this.#transport.call("listWorkspaces", options)).workspaces
  }

  async create(
    name: string,
    options: Waiting & { readonly idempotencyKey?: string | undefined } = {}
  ): Promise<Workspace> {
    const { idempotencyKey = randomKey(), ...rest } = options
    const parameters = { "Idempotency-Key": idempotencyKey }
    return (await this.#transport.call("createWorkspace", { parameters, body: { name }, ...rest })).workspace
  }

  /** The oldest one; made, with the name `default`, if there is none. Concurrent programs get the same one. */
  async first(options: Waiting = {}): Promise<Workspace> {
    const [oldest] = (await this.list(options)).toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1))
    return oldest ?? this.create("default", { ...options, idempotencyKey: "atoll-client-first-workspace" })
  }

  async rename(id: string, name: string, options: Waiting = {}): Promise<Workspace> {
    return (await this.#transport.call("renameWorkspace", { parameters: { id }, body: { name }, ...options })).workspace
  }

  /** Only an empty one; else `WORKSPACE_NOT_EMPTY`. */
  async delete(id: string, options: Waiting = {}): Promise<void> {
    await this.#transport.call("deleteWorkspace", { parameters: { id }, ...options })
  }
}
