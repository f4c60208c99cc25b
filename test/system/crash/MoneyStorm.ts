/**
 * Clients of several accounts that create, start, stop and delete Sandboxes as fast as they can, an operator who gives
 * them credit that is soon used up or expires, and an auditor who recomputes all costs at any time.
 */
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { bundledOnce } from "../../support/bundledOnce.ts"
import type { ServiceProcess } from "../../support/crash/ServiceProcess.ts"

const root = join(import.meta.dirname, "../../..")
const answersOfALoad = [200, 201, 202, 204, 402, 404, 409, 429, 502, 503]
const sandboxesMax = 6

/**
 * Two cents in two seconds are less than the payer's Sandboxes cost, so that credit ends however fast the command line
 * is.
 */
const grantEveryMs = 2000

interface Client {
  readonly name: string
  readonly key: string
  workspaceId: string
  readonly sandboxes: Set<string>
}

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** As `usage verify --json` prints it. */
interface Found {
  readonly sandboxes: number
  readonly unpostedSandboxes: number
  readonly entries: number
  readonly costMicroUsd: string
  readonly differences: ReadonlyArray<object>
  readonly differencesCount: number
}

export class MoneyStorm {
  readonly #members: ReadonlyArray<ServiceProcess>
  readonly #environment: Readonly<Record<string, string>>
  readonly #clients: Array<Client> = []
  readonly faults: Array<string> = []
  /** The grants that were acknowledged. */
  readonly grants = new Set<string>()
  /** How often a request was refused for lack of credit. */
  refusals = 0
  #isOver = false

  /** @param environment Names the command line's database. */
  constructor(members: ReadonlyArray<ServiceProcess>, environment: Readonly<Record<string, string>>) {
    this.#members = members
    this.#environment = environment
  }

  #atoll(...words: ReadonlyArray<string>): Promise<Ended> {
    return new Promise((done) => {
      const child = execFile(
        process.execPath,
        [join(root, "src/cli/main.ts"), ...words],
        { env: { PATH: process.env["PATH"], ...bundledOnce, ...this.#environment } },
        (_, stdout, stderr) => done({ code: child.exitCode ?? -1, stdout, stderr })
      )
    })
  }

  async #told(...words: ReadonlyArray<string>): Promise<string> {
    const { code, stdout, stderr } = await this.#atoll(...words)
    if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}: ${stderr}`)
    return stdout
  }

  /** Two accounts that have to pay, and one that does not; rates at which a second costs a cent. */
  async begin(): Promise<void> {
    await this.#told(
      "rates",
      "set",
      "--vcpu-second",
      "7654321",
      "--memory-gib-second",
      "3210987",
      "--volume-gib-second",
      "10007"
    )
    for (const [name, billing] of [
      ["payer", "prepaid"],
      ["saver", "prepaid"],
      ["operator", "unlimited"]
    ] as const) {
      await this.#told("accounts", "create", "--name", name, "--billing", billing)
      const key = (await this.#told("keys", "create", "--account", name, "--scopes", "all")).trim()
      const made = await this.#any().ask("POST", "/workspaces", { name }, randomUUID(), key)
      this.#clients.push({ name, key, workspaceId: made.body.workspace.id, sandboxes: new Set() })
    }
    await this.#give("saver", "1000", null)
    await this.#give("payer", "0.01", null)
  }

  #any(): ServiceProcess {
    const up = this.#members.filter((member) => member.isUp)
    return up[Math.floor(Math.random() * up.length)] ?? this.#members[0]!
  }

  async #give(name: string, usd: string, forMs: number | null): Promise<void> {
    const expiry = forMs === null ? [] : ["--expires-at", new Date(Date.now() + forMs).toISOString()]
    const kind = ["--kind", forMs === null ? "purchase" : "promotional"]
    const { code, stdout, stderr } = await this.#atoll(
      "credit",
      "grant",
      "--account",
      name,
      "--usd",
      usd,
      ...kind,
      ...expiry,
      "--json"
    )
    if (code === 0) this.grants.add(JSON.parse(stdout).grant.id)
    else if (code !== 1 && !/--expires-at is past/.test(stderr))
      this.faults.push(`credit grant ended with ${code}: ${stderr}`)
  }

  async #ask(client: Client, method: string, path: string, body?: unknown) {
    try {
      const answer = await this.#any().ask(method, path, body, method === "POST" ? randomUUID() : undefined, client.key)
      if (answer.status === 402) this.refusals += 1
      if (!answersOfALoad.includes(answer.status)) {
        this.faults.push(`${method} ${path} was answered ${answer.status} ${JSON.stringify(answer.body)}`)
      }
      return answer
    } catch (error) {
      if (!/fetch failed|terminated|socket|ECONN|JSON|aborted|timeout/i.test(String(error))) throw error
      await sleep(50)
      return null
    }
  }

  async #act(client: Client): Promise<void> {
    const ids = [...client.sandboxes]
    const id = ids[Math.floor(Math.random() * ids.length)]
    const choice = Math.random()
    if (id === undefined || (choice < 0.2 && ids.length < sandboxesMax)) {
      const body = { workspaceId: client.workspaceId, networkEnabled: false }
      const made = await this.#ask(client, "POST", "/sandboxes", body)
      if (made?.status === 201 || made?.status === 202) client.sandboxes.add(made.body.sandbox.id)
      // A refused client retries later.
      if (made?.status === 402) await sleep(100)
    } else if (choice < 0.45) await this.#ask(client, "POST", `/sandboxes/${id}/stop`)
    else if (choice < 0.75) await this.#ask(client, "POST", `/sandboxes/${id}/start`)
    else if (choice < 0.85) await this.#ask(client, "GET", "/usage/balance")
    else if ((await this.#ask(client, "DELETE", `/sandboxes/${id}`))?.status === 204) client.sandboxes.delete(id)
  }

  /** Clients and operator, for as long as `until` takes. */
  async during(until: () => Promise<void>): Promise<void> {
    this.#isOver = false
    const act = async (client: Client) => {
      while (!this.#isOver) await this.#act(client)
    }
    const giveOften = async () => {
      for (let given = 0; !this.#isOver; given++) {
        await this.#give("payer", "0.020007", given % 2 === 0 ? null : 8000)
        for (const next = Date.now() + grantEveryMs; !this.#isOver && Date.now() < next; ) await sleep(50)
      }
    }
    const all = Promise.all([...this.#clients.flatMap((client) => [act(client), act(client)]), giveOften()])
    try {
      await until()
    } finally {
      this.#isOver = true
      await all
    }
  }

  /** The auditor's findings at this moment. */
  async verify(): Promise<Found | null> {
    const { code, stdout, stderr } = await this.#atoll("usage", "verify", "--json")
    if (stdout === "") {
      this.faults.push(`usage verify ended with ${code}: ${stderr}`)
      return null
    }
    const found: Found = JSON.parse(stdout)
    if (found.differencesCount > 0 || code !== 0) {
      const some = found.differences.slice(0, 5).map((difference) => JSON.stringify(difference))
      this.faults.push(`usage verify found ${found.differencesCount}: ${some.join(", ")}`)
    }
    return found
  }

  /** Deletes everything, and waits until all of it is posted. */
  async end(withinMs: number): Promise<Found> {
    const until = Date.now() + withinMs
    for (const client of this.#clients) {
      const listed = await this.#any().ask("GET", "/sandboxes?limit=1000", undefined, undefined, client.key)
      const open = listed.body.sandboxes.filter(({ status }: { readonly status: string }) => status !== "deleted")
      for (const { id } of open) {
        while ((await this.#ask(client, "DELETE", `/sandboxes/${id}`))?.status !== 204) {
          if (Date.now() > until) throw new Error(`${id} is not deleted.`)
        }
      }
    }
    for (;;) {
      const found = await this.verify()
      if (found !== null && (found.unpostedSandboxes === 0 || this.faults.length > 0)) return found
      if (Date.now() > until) throw new Error(`Not everything is posted: ${JSON.stringify(found)}`)
    }
  }

  /** Credit that was acknowledged is there. */
  async checkGrants(): Promise<void> {
    const known = new Set<string>()
    for (const { name } of this.#clients) {
      const { balance } = JSON.parse(await this.#told("credit", "balance", "--account", name, "--json"))
      for (const { id } of balance.grants) known.add(id)
    }
    for (const id of this.grants) if (!known.has(id)) this.faults.push(`${id} was given and is not there`)
  }
}
