/**
 * Clients of the real service, which is killed with -9 again and again, sometimes with its Postgres.
 * Every command writes lines of eight bytes that count up, so each byte of output is known by its offset, and notes in
 * the Sandbox that it was started. ATOLL_CRASH_SEED repeats the plan of a run; the exact instant of each kill depends
 * on the machine.
 * @source design.md "Races that must hold", "and the same commands over HTTP against the real thing with kill -9"
 */
import { randomBytes } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect } from "effect"
import fc from "fast-check"
import { assert, type TestContext } from "vitest"
import { probe } from "../../../src/host/namespace/probe.ts"
import { expectedBytes } from "./expectedBytes.ts"
import { type Answer, processes, ServiceProcess } from "./ServiceProcess.ts"

const lineBytes = 8
const settleWithinMs = 60_000
const sandboxKeys = ["s0", "s1"]

type Step =
  | { readonly type: "start"; readonly operation: number; readonly lines: number; readonly slow: boolean }
  | { readonly type: "cancel" | "get" | "wait" | "output"; readonly operation: number }
  | { readonly type: "execute" | "restart" }

interface Round {
  readonly clients: ReadonlyArray<{ readonly sandbox: number; readonly steps: ReadonlyArray<Step> }>
  readonly killAfterMs: number
  readonly killPostgres: boolean
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("start" as const),
      operation: fc.nat(11),
      lines: fc.constantFrom(1, 40, 5000),
      slow: fc.boolean()
    })
  },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constantFrom("cancel" as const, "get" as const, "wait" as const, "output" as const),
      operation: fc.nat(11)
    })
  },
  { weight: 2, arbitrary: fc.constant({ type: "execute" as const }) },
  { weight: 1, arbitrary: fc.constant({ type: "restart" as const }) }
)

const round: fc.Arbitrary<Round> = fc.record({
  clients: fc.array(
    fc.record({ sandbox: fc.nat(sandboxKeys.length - 1), steps: fc.array(step, { minLength: 3, maxLength: 10 }) }),
    { minLength: 2, maxLength: 4 }
  ),
  killAfterMs: fc.integer({ min: 20, max: 1500 }),
  killPostgres: fc.boolean()
})

const isTerminal = (status: string) => ["completed", "cancelled", "failed"].includes(status)

class Clients {
  readonly service: ServiceProcess
  readonly mark = `atoll-crash-${randomBytes(8).toString("hex")}`
  readonly faults: Array<string> = []
  readonly sandboxes = new Map<string, string>()
  /** By key: the result that was acknowledged for it. */
  readonly operations = new Map<number, { readonly id: string; readonly sandbox: string; readonly lines: number }>()
  readonly #bodies = new Map<
    number,
    { readonly sandbox: string; readonly lines: number; readonly argv: ReadonlyArray<string> }
  >()
  readonly #results = new Map<string, string>()
  workspace = ""

  constructor(service: ServiceProcess) {
    this.service = service
  }

  fault(what: string) {
    this.faults.push(what)
  }

  #unexpected(what: string, { status, body }: Answer) {
    this.fault(`${what} was answered ${status} ${JSON.stringify(body)}`)
  }

  async begin() {
    const { status, body } = await this.service.ask("POST", "/workspaces", { name: "crash" }, "w")
    assert.strictEqual(status, 201, JSON.stringify(body))
    this.workspace = body.workspace.id
  }

  /** Creates each Sandbox, or finds the one that its key made. */
  async createAll() {
    for (const key of sandboxKeys) {
      const request = { workspaceId: this.workspace, name: key, networkEnabled: false }
      const answer = await this.service.ask("POST", "/sandboxes", request, key)
      if (answer.status !== 201 && answer.status !== 202) return this.#unexpected(`creating ${key}`, answer)
      const { id } = answer.body.sandbox
      const known = this.sandboxes.get(key)
      if (known !== undefined && known !== id) this.fault(`${key} made ${known} and ${id}`)
      this.sandboxes.set(key, id)
    }
  }

  /** A restart that a kill cut in two leaves its Sandbox stopped. */
  async startAll() {
    for (const sandbox of this.sandboxes.values()) {
      const started = await this.service.ask("POST", `/sandboxes/${sandbox}/start`)
      if (started.status !== 201) this.#unexpected("a start", started)
    }
  }

  /** A client gives up when the service is cut off, as its caller would; the next round retries. */
  async run(sandboxIndex: number, steps: ReadonlyArray<Step>) {
    try {
      await this.createAll()
      for (const one of steps) await this.do(sandboxKeys[sandboxIndex]!, one)
    } catch (error) {
      if (!/fetch failed|terminated|socket|ECONN|JSON/i.test(String(error))) throw error
    }
  }

  async do(sandboxKey: string, one: Step) {
    const sandbox = this.sandboxes.get(sandboxKey)!
    switch (one.type) {
      case "start":
        return this.#start(sandbox, one)
      case "execute": {
        const answer = await this.service.ask("POST", `/sandboxes/${sandbox}/execute`, { argv: ["echo", "words"] })
        if (answer.status === 200) {
          if (answer.body.result.stdout !== "words\n") this.#unexpected("an execute", answer)
        } else if (answer.status !== 502) this.#unexpected("an execute", answer)
        return
      }
      case "restart": {
        for (const call of ["stop", "start"]) {
          const answer = await this.service.ask("POST", `/sandboxes/${sandbox}/${call}`)
          if (![200, 201, 502].includes(answer.status)) this.#unexpected(call, answer)
        }
        return
      }
      default:
        return this.#look(one.operation, one.type)
    }
  }

  async #start(sandbox: string, { operation, lines, slow }: Extract<Step, { readonly type: "start" }>) {
    // Operations of one key are one request.
    const script = `echo started >> /workspace/o${operation}.starts; ${
      slow
        ? `i=0; while [ $i -lt ${lines} ]; do printf '%07d\\n' $i; i=$((i+1)); ${lines > 40 ? "[ $((i % 10)) -ne 0 ] || sleep 0.01" : "sleep 0.02"}; done`
        : `seq -f %07.0f 0 ${lines - 1}`
    }; : ${this.mark}`
    const body = this.#bodies.get(operation) ?? { sandbox, lines, argv: ["sh", "-c", script] }
    this.#bodies.set(operation, body)
    const answer = await this.service.ask(
      "POST",
      `/sandboxes/${body.sandbox}/operations`,
      { argv: body.argv },
      `o${operation}`
    )
    if (answer.status === 502) return
    if (answer.status !== 202) return this.#unexpected(`starting o${operation}`, answer)
    const { id } = answer.body.operation
    const known = this.operations.get(operation)
    if (known !== undefined && known.id !== id) this.fault(`o${operation} made ${known.id} and ${id}`)
    this.operations.set(operation, { id, sandbox: body.sandbox, lines: body.lines })
    this.see(answer.body.operation)
  }

  async #look(operation: number, type: "cancel" | "get" | "wait" | "output") {
    const known = this.operations.get(operation)
    if (known === undefined) return
    const path = `/sandboxes/${known.sandbox}/operations/${known.id}`
    const answer =
      type === "get"
        ? await this.service.ask("GET", path)
        : type === "output"
          ? await this.service.ask("GET", `${path}/output?stream=stdout&offset=${operation * 3}`)
          : await this.service.ask("POST", `${path}/${type}`, type === "wait" ? { timeoutSeconds: 1 } : undefined)
    if (answer.status !== 200) return this.#unexpected(`${type} of o${operation}`, answer)
    if (type === "output") this.#compare(known.id, answer.body)
    else this.see(answer.body.operation)
    if (type === "cancel" && !isTerminal(answer.body.operation.status))
      this.#unexpected(`cancel of o${operation}`, answer)
  }

  see(operation: Record<string, unknown>) {
    const { id, status, exitCode, signal, reason, finishedAt } = operation as Record<string, string>
    if (!isTerminal(status!)) return
    const result = JSON.stringify([status, exitCode, signal, reason, finishedAt])
    const known = this.#results.get(id!) ?? result
    if (known !== result) this.fault(`${id} ended as ${known} and as ${result}`)
    this.#results.set(id!, known)
  }

  #compare(id: string, chunk: { readonly offset: number; readonly data: string }) {
    const bytes = Buffer.from(chunk.data, "base64")
    if (!bytes.equals(expectedBytes(chunk.offset, bytes.length))) this.fault(`${id} shows other bytes than it wrote`)
  }

  /** Everything that was acknowledged is there, ended once, with all its output, and was started at most once. */
  async checkAll() {
    const { service } = this
    for (const [key, { id, sandbox, lines }] of this.operations) {
      const path = `/sandboxes/${sandbox}/operations/${id}`
      const end = Date.now() + settleWithinMs
      while (true) {
        const answer = await service.ask("POST", `${path}/wait`, { timeoutSeconds: 5 })
        if (answer.status !== 200) {
          this.#unexpected(`o${key}, acknowledged,`, answer)
          break
        }
        const { operation } = answer.body
        this.see(operation)
        if (isTerminal(operation.status) && operation.processTree !== "running") {
          if (operation.status === "completed") {
            const wanted = lines * lineBytes
            if (operation.output.stdoutBytes !== wanted) {
              this.fault(`o${key} has ${operation.output.stdoutBytes} bytes of ${wanted}`)
            }
            const { body } = await service.ask("GET", `${path}/output?stream=stdout&offset=0&limit=262144`)
            this.#compare(id, body)
            const { length } = Buffer.from(body.data, "base64")
            if (length !== wanted || !body.eof) {
              const { data: _bytes, ...page } = body
              this.fault(`o${key} lost output: ${length} of ${wanted} bytes, ${JSON.stringify(page)}`)
            }
          }
          break
        }
        if (Date.now() > end) {
          this.fault(`o${key} does not end: ${JSON.stringify(operation)}`)
          break
        }
      }
    }
    if (processes().some(({ command }) => command.includes(this.mark))) this.fault("a command outlived its operation")
    await this.startAll()
    for (const sandbox of this.sandboxes.values()) {
      const counted = await service.ask("POST", `/sandboxes/${sandbox}/execute`, {
        argv: ["sh", "-c", "cd /workspace; for f in *.starts; do [ -e $f ] && wc -l $f; done; true"]
      })
      if (counted.status !== 200) this.#unexpected("counting the starts", counted)
      for (const line of String(counted.body.result?.stdout ?? "").split("\n")) {
        if (line !== "" && !line.startsWith("1 ")) this.fault(`started more than once: ${line}`)
      }
    }
  }

  async deleteAll() {
    const end = Date.now() + settleWithinMs
    for (const sandbox of this.sandboxes.values()) {
      const answer = await this.service.ask("DELETE", `/sandboxes/${sandbox}`)
      if (answer.status !== 204) this.#unexpected("a delete", answer)
      while ((await this.service.ask("GET", `/sandboxes/${sandbox}`)).body.sandbox.status !== "deleted") {
        if (Date.now() > end) return this.fault(`${sandbox} is not deleted`)
        await sleep(100)
      }
    }
  }
}

const seed = Number(process.env["ATOLL_CRASH_SEED"] || Math.floor(Math.random() * 2 ** 31))

/** @param isLate The kill waits until an operation was acknowledged, or the clients have nothing more to ask. */
const oneRound = async (clients: Clients, { clients: plans, killAfterMs, killPostgres }: Round, isLate: boolean) => {
  const { service } = clients
  let isAsking = true
  const asking = Promise.all(plans.map(({ sandbox, steps }) => clients.run(sandbox, steps))).finally(() => {
    isAsking = false
  })
  await sleep(killAfterMs)
  while (isLate && isAsking && clients.operations.size === 0) await sleep(10)
  if (killPostgres) service.killPostgres()
  await service.kill()
  await asking
  await service.start()
  await clients.startAll()
}

/**
 * Kills a service under its clients until `roundsMax` kills are done, or `newRoundsForMs` are over, and then compares
 * everything that it acknowledged.
 * Skips the test where there are no namespaces.
 */
export const crashes = async (
  context: TestContext,
  { roundsMax, newRoundsForMs }: { readonly roundsMax: number; readonly newRoundsForMs: number }
) => {
  const found = await Effect.runPromise(probe)
  if (!found.ok) {
    console.warn(`Skipped: ${found.reason}`)
    return context.skip(found.reason)
  }
  const service = await ServiceProcess.make()
  const clients = new Clients(service)
  const begun = Date.now()
  try {
    await service.start()
    await clients.begin()
    await clients.createAll()
    let kills = 0
    // On a busy machine a kill may come before anything was acknowledged: then there are more rounds.
    for (const plan of fc.sample(round, { seed, numRuns: Math.max(16, 4 * roundsMax) })) {
      const isEnough = kills >= roundsMax || (kills > 1 && Date.now() - begun > newRoundsForMs)
      if (isEnough && clients.operations.size > 0) break
      await oneRound(clients, plan, isEnough)
      kills++
    }
    await clients.checkAll()
    await clients.deleteAll()
    await service.stop()
    assert.isAbove(kills, 0)
    assert.isAbove(clients.operations.size, 0)
    assert.deepStrictEqual([...clients.faults, ...service.leftovers], [])
  } catch (error) {
    throw new Error(
      `${String(error)}\nagain: ATOLL_CRASH_SEED=${seed} npm test -- test/system/crash\n${clients.faults.join("\n")}\n${service.log}`
    )
  } finally {
    await service.kill()
    service.killPostgres()
    service.remove()
  }
}
