/**
 * Clients that create, stop and delete Sandboxes, and others that follow the account's events like a program whose
 * service stops, dies and returns: from process to process, with the position of their last event.
 */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import type { ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import { EventClient } from "../../support/http/EventClient.ts"

const sandboxesMax = 5
const writers = 4
const connectionFault = /fetch failed|terminated|socket|ECONN|JSON|aborted|timeout/i

/** `actorId revision`, in the order of the events. */
export class Follower {
  readonly told: Array<string> = []
  /** How often its stream was cut. */
  losses = 0
  readonly #members: ReadonlyArray<ServiceProcess>
  readonly #slowMs: number
  #position: string | null = null
  #client: EventClient | null = null
  #isOver = false
  #done: Promise<void> = Promise.resolve()

  /** @param slowMs How long it stops reading now and then. */
  constructor(members: ReadonlyArray<ServiceProcess>, slowMs: number) {
    this.#members = members
    this.#slowMs = slowMs
  }

  /** Returns once it has a position. */
  async begin(): Promise<void> {
    this.#done = this.#follow()
    while (this.#position === null) await sleep(5)
  }

  /** Ends after so many events. */
  async end(count: number, withinMs: number): Promise<void> {
    const until = Date.now() + withinMs
    while (this.told.length + (this.#client?.transitions.length ?? 0) < count && Date.now() < until) await sleep(20)
    // An additional event would be a duplicate.
    await sleep(300)
    this.#isOver = true
    this.#client?.close()
    await this.#done
  }

  async #follow(): Promise<void> {
    for (let visit = 0; !this.#isOver; visit++) {
      const up = this.#members.filter((member) => member.isUp)
      const member = up[visit % Math.max(up.length, 1)]
      if (member === undefined) {
        await sleep(20)
        continue
      }
      const client = new EventClient(member.port, "/api/v2/events", {
        authorization: `Bearer ${member.key}`,
        ...(this.#position === null ? {} : { "last-event-id": this.#position })
      })
      this.#client = client
      while (!client.isOver) {
        await sleep(20)
        this.#position ??= client.lastEventId
        if (this.#slowMs === 0 || client.isOver) continue
        client.pause()
        await sleep(this.#slowMs)
        client.resume()
      }
      this.#position = client.lastEventId ?? this.#position
      this.told.push(...client.transitions.map(({ data }) => `${data.actorId} ${data.revision}`))
      this.#client = null
      if (this.#isOver) return
      if (client.status === 200) this.losses += 1
      // No stream: the service is starting, or its database is.
      else if (![0, 503].includes(client.status))
        throw new Error(`The stream was answered ${client.status} ${client.body}`)
      else await sleep(20)
    }
  }
}

export class FeedStorm {
  readonly #members: ReadonlyArray<ServiceProcess>
  readonly #sandboxes = new Set<string>()
  #workspaceId = ""

  constructor(members: ReadonlyArray<ServiceProcess>) {
    this.#members = members
  }

  async begin(): Promise<void> {
    const made = await this.#members[0]!.ask("POST", "/workspaces", { name: "feed" }, "w")
    this.#workspaceId = made.body.workspace.id
  }

  async #ask(method: string, path: string, body?: unknown) {
    const up = this.#members.filter((member) => member.isUp)
    const member = up[Math.floor(Math.random() * up.length)] ?? this.#members[0]!
    try {
      return await member.ask(method, path, body, method === "POST" ? randomUUID() : undefined)
    } catch (error) {
      if (!connectionFault.test(String(error))) throw error
      await sleep(20)
      return null
    }
  }

  async #act(): Promise<void> {
    const ids = [...this.#sandboxes]
    const id = ids[Math.floor(Math.random() * ids.length)]
    const choice = Math.random()
    if (id === undefined || (choice < 0.5 && ids.length < sandboxesMax)) {
      const made = await this.#ask("POST", "/sandboxes", { workspaceId: this.#workspaceId, networkEnabled: false })
      if (made?.status === 202) this.#sandboxes.add(made.body.sandbox.id)
    } else if (choice < 0.75) await this.#ask("POST", `/sandboxes/${id}/stop`)
    else if ((await this.#ask("DELETE", `/sandboxes/${id}`))?.status === 204) this.#sandboxes.delete(id)
  }

  /** Writers, for as long as `until` takes. */
  async during(until: () => Promise<void>): Promise<void> {
    let isOver = false
    const act = async () => {
      while (!isOver) await this.#act()
    }
    const all = Promise.all(Array.from({ length: writers }, act))
    try {
      await until()
    } finally {
      isOver = true
      await all
    }
  }

  /** Deletes everything, and returns what all logs hold by then: `actorId revision`. */
  async logs(withinMs: number): Promise<ReadonlyArray<string>> {
    const until = Date.now() + withinMs
    const listed = async () =>
      (await this.#ask("GET", "/sandboxes?limit=1000"))?.body.sandboxes as
        | ReadonlyArray<{ readonly id: string; readonly status: string }>
        | undefined
    for (;;) {
      const found = await listed()
      const open = found?.filter(({ status }) => status !== "deleted")
      if (open?.length === 0) break
      for (const { id } of open ?? []) await this.#ask("DELETE", `/sandboxes/${id}`)
      if (Date.now() > until) throw new Error(`These are not deleted: ${JSON.stringify(open)}`)
    }
    const all: Array<string> = []
    for (const { id } of (await listed())!) {
      const log = await this.#ask("GET", `/sandboxes/${id}/transitions?limit=1000`)
      all.push(...log!.body.transitions.map(({ revision }: { readonly revision: number }) => `${id} ${revision}`))
    }
    return all
  }
}
