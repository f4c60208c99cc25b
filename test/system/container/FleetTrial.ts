/**
 * The steps of the trial of docker-compose.fleet.yml, in their order: two services behind a balancer, three hosts, and Postgres, each a container, each
 * of which is killed under a client that repeats a request once.
 */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { chmod, chown, mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Api } from "./Api.ts"
import { Client, type Told } from "./Client.ts"
import { type Composition, hosts, type Service, services } from "./Composition.ts"
import { confinedService } from "./confined.ts"
import { createSandbox, execute, mainPath, preview, start, startOperation } from "./mainPath.ts"
import { soon } from "./run.ts"
import type { TrialOptions } from "./Trial.ts"

type HostName = (typeof hosts)[number]

const HEALTHY_WITHIN_MS = 300_000
const SETTLED_WITHIN_MS = 180_000
/** Shorter than the defaults, so that the trial sees a host lost. */
const LEASE_MS = 3_000
const LOST_AFTER_MS = 8_000
/** How long a client goes on after a container was killed: longer than any takeover. */
const UNDER_FIRE_MS = 8_000
const UPLOAD_BYTES = 8 * 1024 ** 2

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

export class FleetTrial {
  private readonly composition: Composition
  private readonly options: TrialOptions
  private api: Api
  private workspace = ""
  /** A running Sandbox on each host, with kept.txt. */
  private readonly sandboxes = new Map<HostName, string>()

  constructor(options: TrialOptions) {
    this.options = options
    this.composition = options.composition
    this.api = new Api(`http://127.0.0.1:${options.port}`)
  }

  readonly steps: ReadonlyArray<readonly [string, () => Promise<void>]> = [
    ["builds the image", () => this.composition.build()],
    ["comes up: all are healthy, the hosts ready, and the one that does everything is not there", () => this.comesUp()],
    ["goes the API's main path through the balancer", () => this.goesMainPath()],
    ["passes long bodies on", () => this.passesLongBodies()],
    ["serves a preview through the balancer", () => preview(this.api, this.on("host-1"), this.options.port)],
    ["spreads Sandboxes over the hosts", async () => assert.equal(this.sandboxes.size, hosts.length)],
    ...services.flatMap((service) => [
      [`loses nothing when ${service} is killed`, () => this.losesNothing(service, "kill")] as const,
      [`loses nothing when ${service} stops`, () => this.losesNothing(service, "stop")] as const
    ]),
    ["loses nothing when the database is killed", () => this.survivesDatabase()],
    ["loses nothing when the balancer is killed", () => this.survivesBalancer()],
    ...hosts.map((host) => [`goes on when ${host} is killed and started`, () => this.survivesHost(host)] as const),
    ["takes a host for lost, and takes it back", () => this.losesHost("host-2")],
    ["deletes all, and leaves nothing", () => this.leavesNothing()]
  ]

  private on(host: HostName): string {
    const sandbox = this.sandboxes.get(host)
    assert.ok(sandbox !== undefined, `no Sandbox is on ${host}`)
    return sandbox
  }

  private async isHealthy(...which: ReadonlyArray<Service>): Promise<void> {
    for (const service of which) {
      await soon(async () => {
        assert.equal(await this.composition.inspect(service, ".State.Health.Status"), "healthy", service)
      }, HEALTHY_WITHIN_MS)
    }
  }

  private async rows(query: string): Promise<ReadonlyArray<ReadonlyArray<string>>> {
    const said = await this.composition.exec(
      "postgres",
      ...["psql", "--username=atoll", "--dbname=atoll", "--no-align", "--tuples-only", `--command=${query}`]
    )
    return said
      .trim()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.trim().split("|"))
  }

  /** The state of each host, by the name of its container. */
  private async standings(): Promise<ReadonlyMap<string, string>> {
    const found = await this.rows("select h.address_host, a.status from hosts h join actors a on a.id = h.id")
    return new Map(found.map(([host, status]) => [host!, status!]))
  }

  private async hostOf(sandbox: string): Promise<HostName> {
    const [row] = await this.rows(
      `select h.address_host from host_promises p join hosts h on h.id = p.host_id where p.sandbox_id = '${sandbox}'`
    )
    return row![0] as HostName
  }

  private async stands(host: HostName, state: string): Promise<void> {
    await soon(async () => {
      assert.equal((await this.standings()).get(host), state, host)
    }, SETTLED_WITHIN_MS)
  }

  private async comesUp(): Promise<void> {
    const secret = join(this.options.folder, "fleet.secret")
    await writeFile(secret, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600 })
    // One service runs as an unprivileged user without a writable folder, as in Kubernetes; the other one runs as
    // docker-compose.yml says.
    const { group, confinement } = await confinedService(async (name, group) => {
      const path = join(this.options.folder, name)
      await mkdir(path)
      await chown(path, 0, group)
      await chmod(path, 0o2770)
      return path
    })
    await chown(secret, 0, group)
    await chmod(secret, 0o440)
    const environment = { ATOLL_HOST_LEASE_MS: String(LEASE_MS), ATOLL_HOST_LOST_AFTER_MS: String(LOST_AFTER_MS) }
    await this.composition.also("fleet", {
      secrets: { fleet: { file: secret } },
      services: { "service-1": { environment }, "service-2": { environment, ...confinement } }
    })
    await this.composition.up()
    await this.isHealthy("postgres", ...services, ...hosts, "fleet")
    assert.ok(!(await this.composition.running()).includes("atoll"))
    for (const host of hosts) await this.stands(host, "ready")
    const told = await this.composition.exec(
      "service-1",
      ...["node", "src/cli/main.ts", "keys", "create", "--account", "default", "--scopes", "all"]
    )
    const key = /atoll_live_\w+/.exec(told)?.[0]
    assert.ok(key, "no key was made")
    this.api = this.api.with({ key })
  }

  private async goesMainPath(): Promise<void> {
    const { workspace, sandbox } = await mainPath(this.api)
    this.workspace = workspace
    this.sandboxes.set(await this.hostOf(sandbox), sandbox)
    // Spread: each goes to the host with the fewest.
    for (let more = 1; more < hosts.length; more++) {
      const other = await createSandbox(this.api, workspace)
      await this.api.expect(204, "PUT", `/v2/sandboxes/${other}/files/content?path=/workspace/kept.txt`, {
        body: Buffer.from("kept\n")
      })
      this.sandboxes.set(await this.hostOf(other), other)
    }
  }

  private async passesLongBodies(): Promise<void> {
    const path = `/v2/sandboxes/${this.on("host-1")}/files/content?path=/workspace/long`
    const body = Buffer.alloc(UPLOAD_BYTES, "0123456789abcdef-")
    await this.api.expect(204, "PUT", path, { body })
    assert.equal((await this.api.expect(200, "GET", path)).text, body.toString())
  }

  private async killContainer(service: Service): Promise<void> {
    await this.composition.docker("kill", await this.composition.container(service))
  }

  private async startContainer(service: Service): Promise<void> {
    await this.composition.docker("start", await this.composition.container(service))
    await this.isHealthy(service)
  }

  /** The client's answers while `work` runs. */
  private async underFire(sandbox: string, work: () => Promise<void>): Promise<Told> {
    const client = new Client(this.api, sandbox)
    try {
      await wait(500)
      await work()
      await wait(UNDER_FIRE_MS)
    } finally {
      await client.end()
    }
    return client.end()
  }

  private async losesNothing(service: Service, how: "kill" | "stop"): Promise<void> {
    const sandbox = this.on("host-1")
    const operation = await startOperation(this.api, sandbox, "echo begun; sleep 20; echo ended")
    const told = await this.underFire(sandbox, async () => {
      if (how === "kill") await this.killContainer(service)
      else await this.composition.docker("stop", "--time", "40", await this.composition.container(service))
    })
    assert.deepEqual(told.failed, [], JSON.stringify(told))
    await this.startContainer(service)
    await soon(async () => {
      const path = `/v2/sandboxes/${sandbox}/operations/${operation}`
      const { status, exitCode } = (await this.api.expect(200, "GET", path)).json.operation
      assert.deepEqual([status, exitCode], ["completed", 0])
    }, SETTLED_WITHIN_MS)
    const output = await this.api.expect(
      200,
      "GET",
      `/v2/sandboxes/${sandbox}/operations/${operation}/output?stream=stdout&offset=0`
    )
    assert.equal(Buffer.from(output.json.data, "base64").toString(), "begun\nended\n")
  }

  private async survivesDatabase(): Promise<void> {
    const operation = await startOperation(this.api, this.on("host-1"), "echo begun; sleep 1000")
    await this.killContainer("postgres")
    await this.startContainer("postgres")
    await soon(() => this.api.expect(200, "GET", "/v2/me"), SETTLED_WITHIN_MS)
    await this.isHealthy(...services)
    const path = `/v2/sandboxes/${this.on("host-1")}/operations/${operation}`
    assert.equal((await this.api.expect(200, "GET", path)).json.operation.status, "running")
    await this.api.expect(200, "POST", `${path}/cancel`)
    for (const host of hosts) await this.stands(host, "ready")
  }

  private async survivesBalancer(): Promise<void> {
    await this.killContainer("fleet")
    await this.startContainer("fleet")
    await soon(() => this.api.expect(200, "GET", "/v2/me"), SETTLED_WITHIN_MS)
    for (const host of hosts) assert.equal((await execute(this.api, this.on(host), "cat kept.txt")).stdout, "kept\n")
  }

  /** Its Sandboxes were processes of the container; the others' go on. */
  private async survivesHost(host: HostName): Promise<void> {
    const other = this.on(hosts.find((it) => it !== host)!)
    const told = await this.underFire(other, async () => {
      await this.killContainer(host)
      await this.startContainer(host)
    })
    assert.deepEqual(told.failed, [], JSON.stringify(told))
    await this.stands(host, "ready")
    await this.isStopped(this.on(host))
    await start(this.api, this.on(host))
  }

  private async isStopped(sandbox: string): Promise<void> {
    await soon(async () => {
      const found = (await this.api.expect(200, "GET", `/v2/sandboxes/${sandbox}`)).json.sandbox
      assert.equal(found.status, "stopped", JSON.stringify(found.statusReason))
    }, SETTLED_WITHIN_MS)
  }

  private async losesHost(host: HostName): Promise<void> {
    const sandbox = this.on(host)
    await this.killContainer(host)
    await this.stands(host, "lost")
    await this.isStopped(sandbox)
    const found = (await this.api.expect(200, "GET", `/v2/sandboxes/${sandbox}`)).json.sandbox
    assert.equal(found.statusReason.code, "HOST_LOST", JSON.stringify(found.statusReason))
    await this.api.expect(502, "POST", `/v2/sandboxes/${sandbox}/start`)
    await this.api.expect(200, "GET", `/v2/sandboxes/${sandbox}/logs?limit=100`)
    // New ones go elsewhere.
    const fresh = await createSandbox(this.api, this.workspace)
    assert.notEqual(await this.hostOf(fresh), host)
    await this.api.expect(204, "DELETE", `/v2/sandboxes/${fresh}`)
    await this.startContainer(host)
    await this.stands(host, "ready")
    await start(this.api, sandbox)
  }

  private async leavesNothing(): Promise<void> {
    for (const sandbox of this.sandboxes.values()) await this.api.expect(204, "DELETE", `/v2/sandboxes/${sandbox}`)
    await soon(async () => {
      assert.deepEqual(await this.rows("select sandbox_id from host_promises"), [])
    }, SETTLED_WITHIN_MS)
    await this.composition.down()
    const ours = `label=com.docker.compose.project=${this.options.project}`
    for (const kind of [
      ["ps", "--all"],
      ["network", "ls"],
      ["volume", "ls"]
    ]) {
      assert.equal(await this.composition.docker(...kind, "--quiet", "--filter", ours), "")
    }
  }
}
