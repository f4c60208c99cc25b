/** A run: clients of a few Sandboxes, faults under them, and the verdict about each Sandbox as soon as its life is over. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { DoesType } from "../../proofs/linear/calls.ts"
import type { ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import type { HostProcess } from "../../support/fleet/HostProcess.ts"
import { anyFault, type FaultName, inflict } from "./faults.ts"
import { Life } from "./Life.ts"
import { anyOf, lastReads, nextOf, randomOf } from "./plan.ts"
import { RecordedClients } from "./RecordedClients.ts"
import { verdictOf } from "./verdict.ts"

export interface RunPlan {
  readonly seed: number
  readonly seconds: number
  readonly clients: number
  /** Sandboxes that live concurrently. */
  readonly sandboxes: number
  /** Calls to a Sandbox before it is deleted. */
  readonly callsEach: number
  /** Whether every second Sandbox has a network, and previews. */
  readonly hasNetwork: boolean
  /** Null: none. */
  readonly faultEveryMs: number | null
  /** Calls that are made more often than all together. */
  readonly more?: ReadonlyArray<DoesType>
  readonly signal?: AbortSignal
  /** Where clients send their calls, if not to the service itself. */
  readonly origin?: string
  /** Of a database that is not the service's own. */
  readonly databaseFolder?: string
  /** Of a fleet: they may be lost, with the runtimes of Sandboxes. */
  readonly hosts?: ReadonlyArray<HostProcess>
  /** A folder for the history of each Sandbox. */
  readonly saveTo?: string
  readonly progress?: (run: RecordedRun) => void
}

const afterDelete = 15
const progressEveryMs = 2_000
const commandsEndWithinMs = 60_000
const askEveryMs = 250
const lastClient = "last"

export class RecordedRun {
  readonly plan: RunPlan
  readonly clients: RecordedClients
  readonly faults: Partial<Record<FaultName, number>> = {}
  /** Sandboxes whose history is explained. */
  explained = 0
  undecided = 0
  /** A text for each Sandbox whose history is not. */
  readonly refusals: Array<string> = []
  readonly beganAt = performance.now()
  readonly #members: ReadonlyArray<ServiceProcess>
  readonly #lives: Array<Life> = []
  #made = 0
  #isOver = false

  private constructor(members: ReadonlyArray<ServiceProcess>, plan: RunPlan, workspaceId: string) {
    this.#members = members
    this.plan = plan
    let turn = 0
    const origin = () => plan.origin ?? members[turn++ % members.length]!.origin
    this.clients = new RecordedClients({ origin, key: members[0]!.key, workspaceId })
  }

  /** @param members Services of one database; each call goes to the next of them. */
  static async of(members: ReadonlyArray<ServiceProcess>, plan: RunPlan): Promise<RecordedRun> {
    const { body } = await members[0]!.ask("POST", "/workspaces", { name: `linear ${plan.seed}` }, `w${plan.seed}`)
    const run = new RecordedRun(members, plan, body.workspace.id)
    await run.#go()
    return run
  }

  /** Of a service, of a host, or of the database. */
  get kills(): number {
    const { kill = 0, killBoth = 0, killDatabase = 0, killHost = 0 } = this.faults
    return kill + killBoth + killDatabase + killHost
  }

  get seconds(): number {
    return (performance.now() - this.beganAt) / 1000
  }

  get #isTimeUp(): boolean {
    return this.seconds > this.plan.seconds || this.plan.signal?.aborted === true || this.refusals.length > 0
  }

  async #go(): Promise<void> {
    const { seed, clients, sandboxes, progress } = this.plan
    for (let slot = 0; slot < sandboxes; slot++) this.#lives.push(this.#newLife())
    const ticking = progress === undefined ? null : setInterval(() => progress(this), progressEveryMs)
    try {
      const asking = Array.from({ length: clients }, (_, client) => this.#ask(`c${client}`, seed * 1000 + client))
      await Promise.all([...asking, this.#disturb()])
    } finally {
      this.#isOver = true
      if (ticking !== null) clearInterval(ticking)
    }
    for (const life of this.#lives) await this.#end(life)
  }

  #newLife(): Life {
    const place = this.#made++
    return new Life(`l${this.plan.seed}-${place}`, this.plan.hasNetwork && place % 2 === 0)
  }

  async #ask(client: string, seed: number): Promise<void> {
    const random = randomOf(seed)
    while (!this.#isTimeUp) {
      const slot = Math.floor(random() * this.#lives.length)
      const life = this.#lives[slot]!
      const { callsEach, more } = this.plan
      if (life.history.length > callsEach + afterDelete && life.isDeleted) {
        this.#lives[slot] = this.#newLife()
        await this.#end(life)
      } else await this.clients.call(client, life, nextOf(random, life, life.history.length > callsEach, more))
    }
  }

  async #disturb(): Promise<void> {
    const { seed, faultEveryMs, databaseFolder, hosts = [] } = this.plan
    if (faultEveryMs === null) return
    const random = randomOf(seed * 1000 + 999)
    while (!this.#isTimeUp) {
      await sleep((0.5 + random()) * faultEveryMs)
      if (this.#isTimeUp) return
      // However short a run is, it has a kill.
      const fault = this.kills === 0 ? "kill" : anyFault(random, this.#members.length, hosts.length)
      this.faults[fault] = (this.faults[fault] ?? 0) + 1
      const service = anyOf(random, this.#members)
      const host = hosts.length === 0 ? null : anyOf(random, hosts)
      await inflict(fault, { service, host, databaseFolder: databaseFolder ?? service.dataDir }, random)
    }
  }

  /** The last reads of a Sandbox that no client uses any more, and the verdict. */
  async #end(life: Life): Promise<void> {
    while (life.inFlight > 0) await sleep(5)
    for (const does of lastReads(life)) await this.clients.certainly(lastClient, life, does)
    if (life.isDeleted && !(await this.#haveCommandsEnded(life))) {
      this.refusals.push(`seed ${this.plan.seed}: commands of ${life.key} (${life.id}), which is deleted, do not end`)
      return
    }
    // The time was up before it was made.
    if (life.id !== null) await this.clients.certainly(lastClient, life, { sandbox: life.key, type: "log" })
    await this.clients.tellRest(life)
    const history = life.wholeHistory
    if (this.plan.saveTo !== undefined) {
      await writeFile(join(this.plan.saveTo, `${life.key}.json`), JSON.stringify(history))
    }
    const { is, text } = await verdictOf({ history, hostsEnd: this.plan.hosts !== undefined })
    if (is === "linearizable") this.explained++
    else if (is === "undecided") this.undecided++
    else this.refusals.push(await this.#refusalOf(life, text))
    const left = [
      ...[...life.children.values()].map((id) => `/sandboxes/${id}`),
      ...[...life.snapshots.values()].map((id) => `/snapshots/${id}`)
    ]
    for (const path of left) await this.#members[0]!.ask("DELETE", path).catch(() => null)
    if (!life.isDeleted && life.id !== null && !this.#isOver) {
      await this.#members[0]!.ask("DELETE", `/sandboxes/${life.id}`).catch(() => null)
    }
  }

  /** A process that was killed or frozen may own them: then another one has to take them over first. */
  async #haveCommandsEnded(life: Life): Promise<boolean> {
    for (const endAt = performance.now() + commandsEndWithinMs; performance.now() < endAt; await sleep(askEveryMs)) {
      await this.clients.certainly(lastClient, life, { sandbox: life.key, type: "commands" })
      const answer = life.history.at(-1)!.answered?.answer
      const isOpen = ({ status }: { readonly status: string }) => status === "queued" || status === "running"
      if (answer?.is === "commands" && !answer.commands.some(isOpen)) return true
    }
    return false
  }

  async #refusalOf(life: Life, text: string | null): Promise<string> {
    const log = await this.#members[0]!.ask("GET", `/sandboxes/${life.id}/transitions?limit=1000`).catch(() => null)
    const rows: ReadonlyArray<Record<string, unknown>> = log?.body.transitions ?? []
    return [
      `seed ${this.plan.seed}, Sandbox ${life.key} (${life.id}), ${life.history.length} calls:`,
      text,
      "Its committed log:",
      ...rows.map(({ revision, at, event, from, to }) => `  ${revision} ${at} ${JSON.stringify(event)} ${from} → ${to}`)
    ].join("\n")
  }
}

export const summaryText = ({
  clients,
  faults,
  kills,
  explained,
  undecided,
  refusals,
  seconds,
  plan
}: RecordedRun): string => {
  const verdict = refusals.length > 0 ? "NOT linearizable" : undecided > 0 ? `${undecided} undecided` : "linearizable"
  const { calls, lost, outages } = clients
  const named = Object.entries(faults).map(([name, count]) => `${count} ${name}`)
  return [
    `${calls} calls, ${kills} kills, ${verdict}`,
    ` (${explained} Sandboxes, ${lost} calls lost, ${outages} refused in outages, ${Math.round(calls / seconds)} calls/s,`,
    ` ${Math.round(seconds)} s${named.length === 0 ? "" : `; ${named.join(", ")}`}; seed ${plan.seed})`
  ].join("")
}
