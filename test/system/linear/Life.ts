/** One Sandbox of a recorded run, as its clients know it: what they have learnt, and what they have seen. */
import { createHash } from "node:crypto"
import type { History } from "../../../src/proofs/linear/Model.ts"
import type { Answer, Does } from "../../proofs/linear/calls.ts"
import { childNames } from "../../proofs/linear/contract/snapshots.ts"
import { entryOf, type Step } from "./steps.ts"
import { Told } from "./Told.ts"

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

export class Life {
  /** The Idempotency-Key of its create. */
  readonly key: string
  readonly hasNetwork: boolean
  /** Of all calls but those of streams of events. */
  readonly history: Array<History<Does, Answer>[number]> = []
  /** Null: no answer has told it. */
  id: string | null = null
  isDeleted = false
  /** Requests that wait for their answer. */
  inFlight = 0
  /** The ids of its commands that are known, by their names. */
  readonly commands = new Map<string, string>()
  /** By the names of its commands: bytes of output that some client has seen. */
  readonly outputs = new Map<string, number>()
  /** The ids of previews that some client has seen. */
  readonly previews = new Set<string>()
  /** The ids of its snapshots that are known, by the names that their clients gave them; those of forks and rollbacks, too. */
  readonly snapshots = new Map<string, string>()
  /** Of Sandboxes that were made of them. */
  readonly children = new Map<string, string>()
  /** By path, what some client has seen there last. */
  readonly seenTexts = new Map<string, string>()
  /** All texts that were ever sent, by their digest. */
  readonly #texts = new Map<string, string>()
  readonly #told = new Map<string, Told>()
  /** How many entries the contract's log has up to each revision. */
  #entriesTo: ReadonlyMap<number, number> = new Map()
  #made = 0

  constructor(key: string, hasNetwork: boolean) {
    this.key = key
    this.hasNetwork = hasNetwork
  }

  /** A text that was never used. */
  newText(): string {
    const text = `text-${++this.#made}`
    this.#texts.set(sha256(text), text)
    return text
  }

  /** How many were asked for. */
  readonly asked = { snapshots: 0, children: 0, rollbacks: 0 }

  newSnapshot(): string {
    return `snap-${++this.asked.snapshots}`
  }

  /** The name of the snapshot of its volume before. */
  newRollback(): string {
    return `kept-${++this.asked.rollbacks}`
  }

  newChild(): string {
    return `child-${++this.asked.children}`
  }

  /** A name that was never used. */
  newName(): string {
    return `name-${++this.#made}`
  }

  digestOf(text: string): string {
    return sha256(text)
  }

  textOf(digest: string): string {
    return this.#texts.get(digest) ?? `no text of ours: ${digest}`
  }

  /** The client's stream of events. */
  toldTo(client: string): Told {
    const known = this.#told.get(client) ?? new Told(client)
    this.#told.set(client, known)
    return known
  }

  /** The clients that have a stream of events. */
  get listeners(): ReadonlyArray<string> {
    return [...this.#told].filter(([, { cursor }]) => cursor !== null).map(([client]) => client)
  }

  /** The last one that some client has read. */
  get revision(): number {
    return Math.max(0, ...this.#entriesTo.keys())
  }

  noteRows(steps: ReadonlyArray<Step>): void {
    if (steps.length < this.#entriesTo.size) return
    let entries = 0
    this.#entriesTo = new Map(
      steps.map((step) => {
        if (entryOf(step) !== null) entries++
        return [step.revision, entries]
      })
    )
  }

  /** With the streams of events. */
  get wholeHistory(): History<Does, Answer> {
    return [...this.history, ...[...this.#told.values()].flatMap((told) => told.calls(this.key, this.#entriesTo))]
  }

  /** What later calls can use of an answer. */
  learn(does: Does, answer: Answer): void {
    if (answer.is === "sandbox") this.id ??= answer.sandbox.id
    if (answer.is === "rolledBack" && does.type === "rollback") this.snapshots.set(does.by, answer.kept.id)
    if (answer.is === "sandboxes") this.id ??= answer.sandboxes[0]?.id ?? null
    const commands = answer.is === "command" ? [answer.command] : answer.is === "commands" ? answer.commands : []
    for (const { by, id } of commands) this.commands.set(by, id)
    if (answer.is === "output" && (does.type === "output" || does.type === "follow")) {
      const { by } = does.command
      this.outputs.set(by, Math.max(this.outputs.get(by) ?? 0, does.from + answer.text.length))
    }
    if (answer.is === "snapshot" && does.type === "snap") this.snapshots.set(does.by, answer.snapshot.id)
    if (answer.is === "children") {
      if (does.type === "child") this.children.set(does.by, answer.ids[0]!)
      if (does.type === "fork" && answer.snapshot !== null) {
        this.snapshots.set(does.by, answer.snapshot.id)
        if (answer.isWhole)
          childNames(does.by, does.count).forEach((by, place) => {
            this.children.set(by, answer.ids[place]!)
          })
      }
    }
    if (answer.is === "preview") this.previews.add(answer.id)
    if (does.type === "delete" && answer.is === "done") this.isDeleted = true
    if (does.type === "read" && answer.is === "text") this.seenTexts.set(does.path, answer.text!)
    if ((does.type === "write" || does.type === "edit") && answer.is === "done")
      this.seenTexts.set(does.path, does.text)
  }
}
