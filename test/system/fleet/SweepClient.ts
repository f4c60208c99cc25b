/**
 * A client of a fleet that uses every function of Sandboxes, at any service that answers, and remembers the answers:
 * what was acknowledged must hold, and a request without an answer may hold or not.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Answer, ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import { Dice } from "../../support/fleet/simulated/Dice.ts"

const sandboxesMax = 2
/** The client leaves a service that is silent for so long for another one. */
const answerWithinMs = 4000
/** No service answers: the client abandons the step, with an unknown outcome. */
const stepWithinMs = 10_000
const pauseMs = 100
/** Every service answers so for a Sandbox that does not run. */
const whereItStands = ["SANDBOX_UNAVAILABLE", "PREVIEW_TRANSPORT_UNAVAILABLE"]
/** A client that finds it stopped starts it half the time, so that there is something for faults to strike. */
const startChance = 0.5

export interface KnownFile {
  /** The last acknowledged content; null: none was. */
  acknowledged: string | null
  /** Writes without an answer: a service may still apply them. */
  readonly perhaps: Set<string>
}

export interface KnownSandbox {
  readonly id: string
  readonly networkEnabled: boolean
  /** Null: never requested. */
  deletion: "asked" | "acknowledged" | null
  readonly files: Map<string, KnownFile>
  /** By its last answer. */
  isDown: boolean
  /** A stop was requested and not answered: it may still apply. */
  mayStop: boolean
}

export interface KnownOperation {
  readonly key: string
  readonly sandboxId: string
  readonly argv: ReadonlyArray<string>
  /** Lines of eight bytes that it writes; null: it goes on until it is cancelled. */
  readonly lines: number | null
  /** Null: not acknowledged. */
  id: string | null
  /** Its end as the client saw it. */
  result: string | null
}

interface Creation {
  readonly key: string
  readonly body: { readonly workspaceId: string; readonly networkEnabled: boolean }
}

interface Closed {
  readonly hostname: string
}

export const steps = ["create", "delete", "stop", "start", "write", "preview", "operation", "cancel"] as const
type Step = (typeof steps)[number]

export const isTerminal = (status: string) => ["completed", "cancelled", "failed"].includes(status)

export class SweepClient {
  readonly name: string
  readonly sandboxes = new Map<string, KnownSandbox>()
  readonly operations: Array<KnownOperation> = []
  /** With an unknown outcome. */
  readonly creations: Array<Creation> = []
  /** Previews that were acknowledged as closed. */
  readonly closed: Array<Closed> = []
  /** How often each step was acknowledged. */
  readonly done = new Map<string, number>()
  /** The step that it waits for; null: none. */
  doing: Step | null = null
  readonly #services: ReadonlyArray<ServiceProcess>
  readonly #dice: Dice
  readonly #faults: Array<string>
  #workspaceId = ""
  #turn = 0
  #numbered = 0
  /** How often a service did not answer, or answered that it cannot now. */
  #unanswered = 0
  #halted: PromiseWithResolvers<void> | null = null
  #resting: PromiseWithResolvers<void> | null = null
  #isOver = false
  #running: Promise<void> | null = null

  constructor(name: string, seed: number, services: ReadonlyArray<ServiceProcess>, faults: Array<string>) {
    this.name = name
    this.#dice = new Dice(seed)
    this.#services = services
    this.#faults = faults
  }

  /**
   * Asks one service after the other until one gives an answer other than that it cannot now. Null: none did in time.
   */
  async ask(
    method: string,
    path: string,
    body?: unknown,
    key?: string,
    withinMs = stepWithinMs
  ): Promise<Answer | null> {
    for (const end = Date.now() + withinMs; Date.now() < end; await sleep(pauseMs)) {
      const service = this.#services[this.#turn++ % this.#services.length]!
      const answer = await service
        .ask(method, path, body, key, undefined, answerWithinMs)
        .catch((): Answer | null => null)
      if (answer === null) {
        this.#unanswered++
        continue
      }
      if (answer.status === 500 || (answer.status === 404 && answer.body?.code === "NOT_FOUND")) {
        this.#faults.push(
          `${this.name}: ${method} ${path} was answered ${answer.status} ${JSON.stringify(answer.body)}`
        )
        return answer
      }
      if (answer.status < 500 || whereItStands.includes(answer.body?.code)) return answer
      this.#unanswered++
    }
    return null
  }

  async begin(): Promise<void> {
    const answer = await this.ask("POST", "/workspaces", { name: this.name }, `${this.name}-workspace`)
    this.#workspaceId = answer!.body.workspace.id
    this.#running = this.#work()
  }

  async #work(): Promise<void> {
    while (!this.#isOver) {
      if (this.#halted !== null) {
        this.#resting?.resolve()
        await this.#halted.promise
        continue
      }
      await this.#step().catch((fault: unknown) => {
        this.#faults.push(`${this.name}: ${(fault as Error).stack}`)
        this.#isOver = true
      })
      this.doing = null
    }
    this.#resting?.resolve()
  }

  /** Resolves between two of its steps; the client rests until `resume`. */
  async halt(): Promise<void> {
    if (this.#isOver) return
    this.#resting = Promise.withResolvers()
    this.#halted = Promise.withResolvers()
    await this.#resting.promise
  }

  resume(): void {
    this.#halted?.resolve()
    this.#halted = null
  }

  async end(): Promise<void> {
    this.#isOver = true
    this.resume()
    await this.#running
  }

  #acknowledged(step: Step): void {
    this.done.set(step, (this.done.get(step) ?? 0) + 1)
  }

  #step(): Promise<void> {
    const mine = [...this.sandboxes.values()].filter(({ deletion }) => deletion === null)
    const chance = this.#dice.next()
    if (mine.length === 0 || (chance < 0.06 && mine.length < sandboxesMax)) return this.#create()
    const sandbox = this.#dice.one(mine)
    if (chance < 0.12) return this.#delete(sandbox)
    if (sandbox.isDown && this.#dice.next() < startChance) return this.#start(sandbox)
    if (chance < 0.22) return this.#stop(sandbox)
    if (chance < 0.4) return this.#start(sandbox)
    if (chance < 0.55) return this.#write(sandbox)
    if (chance < 0.65 && sandbox.networkEnabled) return this.#preview(sandbox)
    return this.#operate(sandbox, chance > 0.85)
  }

  async #create(): Promise<void> {
    this.doing = "create"
    const body = { workspaceId: this.#workspaceId, networkEnabled: this.#dice.next() < 0.5 }
    const creation = { key: `${this.name}-s${this.#numbered++}`, body }
    this.creations.push(creation)
    await this.resolveCreation(creation)
  }

  /** The same request again, under the same key. */
  async resolveCreation(creation: Creation): Promise<void> {
    const answer = await this.ask("POST", "/sandboxes", creation.body, creation.key)
    if (answer === null || answer.status >= 500) return
    this.creations.splice(this.creations.indexOf(creation), 1)
    if (answer.status !== 201 && answer.status !== 202) {
      // A limit of the account or the fleet.
      if (answer.status !== 429) this.#unexpected("a create", answer)
      return
    }
    const { id } = answer.body.sandbox
    this.sandboxes.set(id, {
      id,
      networkEnabled: creation.body.networkEnabled,
      deletion: null,
      files: new Map(),
      isDown: false,
      mayStop: false
    })
    this.#acknowledged("create")
  }

  async #delete(sandbox: KnownSandbox): Promise<void> {
    this.doing = "delete"
    sandbox.deletion = "asked"
    await this.resolveDeletion(sandbox)
  }

  async resolveDeletion(sandbox: KnownSandbox): Promise<void> {
    const answer = await this.ask("DELETE", `/sandboxes/${sandbox.id}`)
    if (answer?.status === 204) {
      sandbox.deletion = "acknowledged"
      this.#acknowledged("delete")
    } else if (answer !== null && answer.status < 500) this.#unexpected("a delete", answer)
  }

  async #stop(sandbox: KnownSandbox): Promise<void> {
    this.doing = "stop"
    const unanswered = this.#unanswered
    const answer = await this.ask("POST", `/sandboxes/${sandbox.id}/stop`)
    sandbox.mayStop ||= this.#unanswered > unanswered
    if (answer === null) return
    sandbox.isDown = true
    if (answer.status === 200) this.#acknowledged("stop")
  }

  async #start(sandbox: KnownSandbox): Promise<void> {
    this.doing = "start"
    const answer = await this.ask("POST", `/sandboxes/${sandbox.id}/start`)
    if (answer?.status !== 200 && answer?.status !== 201) return
    sandbox.isDown = false
    this.#acknowledged("start")
  }

  async #write({ id, files }: KnownSandbox): Promise<void> {
    this.doing = "write"
    const path = `/workspace/file-${this.#dice.between(0, 2)}`
    const content = `${this.name} ${this.#numbered++}`
    const file: KnownFile = files.get(path) ?? { acknowledged: null, perhaps: new Set() }
    files.set(path, file)
    file.perhaps.add(content)
    const answer = await this.#dice
      .one(this.#services)
      .bytes("PUT", `/sandboxes/${id}/files/content?path=${path}`, Buffer.from(content), answerWithinMs)
      .catch(() => null)
    if (answer?.status !== 204) return
    file.perhaps.delete(content)
    file.acknowledged = content
    this.#acknowledged("write")
  }

  async #preview(sandbox: KnownSandbox): Promise<void> {
    this.doing = "preview"
    const { id } = sandbox
    const opened = await this.ask("POST", `/sandboxes/${id}/previews`, { port: 8000 })
    if (opened?.status === 503) sandbox.isDown = true
    if (opened?.status !== 201) return
    const { hostname, id: previewId } = opened.body.preview
    const closed = await this.ask("DELETE", `/sandboxes/${id}/previews/${previewId}`)
    if (closed?.status !== 204) return
    this.closed.push({ hostname })
    this.#acknowledged("preview")
  }

  async #operate({ id }: KnownSandbox, isLong: boolean): Promise<void> {
    this.doing = "operation"
    const key = `${this.name}-o${this.#numbered++}`
    const lines = isLong ? null : this.#dice.one([1, 40, 3000])
    const writes = lines === null ? "sleep 1000" : `seq -f %07.0f 0 ${lines - 1}`
    const operation: KnownOperation = {
      key,
      sandboxId: id,
      argv: ["sh", "-c", `echo ${key} >> /workspace/starts; ${writes}`],
      lines,
      id: null,
      result: null
    }
    await this.resolveStart(operation)
    if (operation.id === null || (!isLong && this.#dice.next() >= 0.2)) return
    this.doing = "cancel"
    await this.cancel(operation)
  }

  /** The same request again, under the same key: it is started at most once. */
  async resolveStart(operation: KnownOperation): Promise<void> {
    if (!this.operations.includes(operation)) this.operations.push(operation)
    const { argv, key, sandboxId } = operation
    const answer = await this.ask("POST", `/sandboxes/${sandboxId}/operations`, { argv }, key)
    if (answer?.status === 502) this.sandboxes.get(sandboxId)!.isDown = true
    if (answer?.status !== 202) return
    operation.id = answer.body.operation.id
    this.see(operation, answer.body.operation)
    this.#acknowledged("operation")
  }

  async cancel(operation: KnownOperation): Promise<void> {
    const answer = await this.ask("POST", `/sandboxes/${operation.sandboxId}/operations/${operation.id}/cancel`)
    if (answer?.status !== 200) return
    this.see(operation, answer.body.operation)
    // The operation has ended before the answer.
    if (!isTerminal(answer.body.operation.status)) this.#unexpected(`cancel of ${operation.key}`, answer)
    this.#acknowledged("cancel")
  }

  /** An ended operation stays ended. */
  see(known: KnownOperation, operation: Readonly<Record<string, unknown>>): void {
    const { id, status, exitCode, signal, reason, finishedAt } = operation
    if (!isTerminal(status as string)) {
      if (known.result !== null) this.#faults.push(`${known.key} (${id}) had ended as ${known.result} and is ${status}`)
      return
    }
    const result = JSON.stringify([status, exitCode, signal, reason, finishedAt])
    if (known.result !== null && known.result !== result)
      this.#faults.push(`${known.key} (${id}) ended as ${known.result} and as ${result}`)
    known.result = result
  }

  #unexpected(what: string, { status, body }: Answer): void {
    this.#faults.push(`${this.name}: ${what} was answered ${status} ${JSON.stringify(body)}`)
  }
}
