/** The steps of the trial, in order: each continues with the containers as the step before left them. */
import assert from "node:assert/strict"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { selfSigned } from "../../support/selfSigned.ts"
import { Api } from "./Api.ts"
import type { Composition, Service } from "./Composition.ts"
import type { Engine } from "./Engine.ts"
import { hasTools, isBounded, reaches, seesNothing } from "./inside.ts"
import { createSandbox, mainPath, preview, start, startOperation } from "./mainPath.ts"
import { soon } from "./run.ts"

export interface TrialOptions {
  readonly composition: Composition
  readonly engine: Engine
  readonly folder: string
  readonly port: number
  readonly project: string
}

const HEALTHY_WITHIN_MS = 180_000
/** As docker-compose.yml grants it. */
const GRACE_MS = 40_000

/**
 * Addresses that are unassigned (RFC 7526) and on no list of private ranges: they stand for the Internet, where the
 * engine is private.
 */
const INTERNET = "192.88.99.0/24"

export class Trial {
  private readonly composition: Composition
  private readonly options: TrialOptions
  private api: Api
  private workspace = ""
  private sandbox = ""

  constructor(options: TrialOptions) {
    this.options = options
    this.composition = options.composition
    this.api = new Api(`http://127.0.0.1:${options.port}`)
  }

  readonly steps: ReadonlyArray<readonly [string, () => Promise<void>]> = [
    ["builds the image", () => this.composition.build()],
    ["comes up, and is healthy", () => this.comesUp()],
    ["goes the API's main path over the published port", () => this.goesMainPath()],
    ["has in a Sandbox the tools that people expect", () => hasTools(this.api, this.sandbox)],
    ["shows a Sandbox nothing of the container", () => seesNothing(this.api, this.composition, this.sandbox)],
    ["bounds a Sandbox's memory and volume", () => isBounded(this.api, this.sandbox)],
    ["lets a Sandbox reach the Internet, and no container", () => this.reachesNoContainer()],
    ["serves a preview over the published port", () => preview(this.api, this.sandbox, this.options.port)],
    ["finds doctor content", async () => void (await this.atoll("doctor"))],
    ["backs up what runs, and restores it", () => this.backsUp()],
    ["goes on after kill -9 of the service", () => this.survives(() => this.killService())],
    ["goes on after its container was killed and started", () => this.survives(() => this.killContainer("atoll"))],
    [
      "goes on in a new container",
      () => this.survives(() => this.composition.up("--force-recreate", "--no-deps", "atoll"))
    ],
    ["waits for a database that is restarted", () => this.database("restart")],
    ["waits for a database that is killed", () => this.database("kill")],
    ["stops in its time, and starts again", () => this.stops()],
    ["serves HTTPS, and is healthy", () => this.servesHttps()],
    ["leaves nothing", () => this.leavesNothing()]
  ]

  private async isHealthy(): Promise<void> {
    await soon(async () => {
      assert.equal(await this.composition.inspect("atoll", ".State.Health.Status"), "healthy")
    }, HEALTHY_WITHIN_MS)
  }

  private async answers(): Promise<void> {
    await soon(() => this.api.expect(200, "GET", "/v2/me"), HEALTHY_WITHIN_MS)
  }

  private atoll(...args: ReadonlyArray<string>): Promise<string> {
    return this.composition.exec("atoll", "node", "src/cli/main.ts", ...args)
  }

  private async comesUp(): Promise<void> {
    await this.composition.up()
    await this.isHealthy()
    const key = /atoll_live_\w+/.exec(
      await this.atoll("keys", "create", "--account", "default", "--scopes", "all")
    )?.[0]
    assert.ok(key, "no key was made")
    this.api = this.api.with({ key })
  }

  private async goesMainPath(): Promise<void> {
    const { workspace, sandbox } = await mainPath(this.api)
    this.workspace = workspace
    this.sandbox = sandbox
  }

  private async reachesNoContainer(): Promise<void> {
    const closed = ["postgres", "atoll", "127.0.0.1", "10.0.2.2", "169.254.169.254"]
    const { docker, isOwn } = this.options.engine
    if (!isOwn) return reaches(this.api, this.sandbox, { closed, open: null })
    const network = `atoll-trial-internet-${process.pid}`
    await docker(["network", "create", "--subnet", INTERNET, network])
    const outside = `atoll-trial-outside-${process.pid}`
    const atoll = await this.composition.container("atoll")
    try {
      await docker(["network", "connect", network, atoll])
      const image = await this.composition.inspect("postgres", ".Config.Image")
      const environment = ["USER=atoll", "DB=atoll", "PASSWORD=unused", "HOST_AUTH_METHOD=reject", "INITDB_ARGS="]
      const variables = environment.flatMap((it) => ["--env", `POSTGRES_${it}`])
      await docker(["run", "--detach", "--name", outside, "--network", network, ...variables, image, "postgres"])
      await soon(() => docker(["exec", outside, "pg_isready", "--host=127.0.0.1"]), HEALTHY_WITHIN_MS)
      const format = `{{(index .NetworkSettings.Networks "${network}").IPAddress}}`
      const open = (await docker(["inspect", "--format", format, outside])).trim()
      await reaches(this.api, this.sandbox, { closed, open })
    } finally {
      await docker(["rm", "--force", "--volumes", outside])
      await docker(["network", "disconnect", network, atoll])
      await docker(["network", "rm", network])
    }
  }

  /** What a crash leaves: an operation that ran, a file that was written. */
  private async survives(crash: () => Promise<void>): Promise<void> {
    const operation = await startOperation(this.api, this.sandbox, "echo begun; sleep 1000")
    await crash()
    await this.answers()
    // Its processes were the container's.
    await soon(async () => {
      const { sandbox } = (await this.api.expect(200, "GET", `/v2/sandboxes/${this.sandbox}`)).json
      assert.equal(sandbox.status, "stopped", JSON.stringify(sandbox.statusReason))
      assert.equal(sandbox.statusReason.message, "The Sandbox ended with the container that it was in.")
    }, HEALTHY_WITHIN_MS)
    await soon(async () => {
      const path = `/v2/sandboxes/${this.sandbox}/operations/${operation}`
      assert.equal((await this.api.expect(200, "GET", path)).json.operation.status, "failed")
    }, HEALTHY_WITHIN_MS)
    await start(this.api, this.sandbox)
    // Another one beside it: no user, volume or loop device is used twice.
    const other = await createSandbox(this.api, this.workspace)
    await this.api.expect(204, "DELETE", `/v2/sandboxes/${other}`)
    await this.isHealthy()
  }

  /** Not the container's init: `restart` is for that one. */
  private async killService(): Promise<void> {
    const before = await this.composition.inspect("atoll", ".State.StartedAt")
    await this.composition.exec("atoll", "sh", "-c", "kill -9 $(pgrep -f '^node src/main.mjs')").catch(() => {})
    await soon(async () => {
      assert.notEqual(await this.composition.inspect("atoll", ".State.StartedAt"), before)
    }, HEALTHY_WITHIN_MS)
  }

  private async killContainer(service: Service): Promise<void> {
    const container = await this.composition.container(service)
    await this.composition.docker("kill", container)
    await this.composition.docker("start", container)
  }

  private async database(how: "restart" | "kill"): Promise<void> {
    const operation = await startOperation(this.api, this.sandbox, "echo begun; sleep 1000")
    if (how === "kill") await this.killContainer("postgres")
    else await this.composition.docker("restart", await this.composition.container("postgres"))
    await this.answers()
    await this.isHealthy()
    // The service was not restarted, nor were the running Sandboxes.
    const path = `/v2/sandboxes/${this.sandbox}/operations/${operation}`
    assert.equal((await this.api.expect(200, "GET", path)).json.operation.status, "running")
    await this.api.expect(200, "POST", `${path}/cancel`)
  }

  private async stops(): Promise<void> {
    const since = performance.now()
    await this.composition.docker("stop", "--time", String(GRACE_MS / 1000), await this.composition.container("atoll"))
    const tookMs = performance.now() - since
    assert.ok(tookMs < GRACE_MS / 2, `it took ${tookMs} ms`)
    assert.equal(await this.composition.inspect("atoll", ".State.ExitCode"), "0")
    assert.match(await this.composition.logs("atoll"), /One Sandbox ends with this container/)
    await this.composition.docker("start", await this.composition.container("atoll"))
    await this.answers()
    await start(this.api, this.sandbox)
  }

  /** A backup with a running Sandbox, restored as a second installation beside the first. */
  private async backsUp(): Promise<void> {
    await this.atoll("backup", "/tmp/archive")
    await this.composition.exec(
      "postgres",
      ...["psql", "--username=atoll", "--dbname=atoll", "--command=create database restored"]
    )
    const elsewhere =
      "DATABASE_URL=$(echo $DATABASE_URL | sed s,/atoll?,/restored?,) ATOLL_DATA_DIR=/var/lib/atoll-restored"
    await this.composition.exec("atoll", "sh", "-c", `${elsewhere} node src/cli/main.ts restore /tmp/archive`)
    await this.composition.exec("atoll", "rm", "-rf", "/tmp/archive", "/var/lib/atoll-restored")
  }

  private async servesHttps(): Promise<void> {
    const folder = join(this.options.folder, "tls")
    await mkdir(folder)
    selfSigned(folder, "atoll", ["DNS:localhost", "IP:127.0.0.1"])
    const back = await this.composition.also("https", {
      services: {
        atoll: {
          environment: { ATOLL_TLS_CERT_FILE: "/tls/atoll.crt", ATOLL_TLS_KEY_FILE: "/tls/atoll.key" },
          volumes: [`${folder}:/tls:ro`]
        }
      }
    })
    await this.composition.up("--no-deps", "atoll")
    await this.isHealthy()
    const secure = this.api.with({ origin: `https://127.0.0.1:${this.options.port}` })
    await secure.expect(200, "GET", "/v2/me")
    await start(secure, this.sandbox)
    back()
  }

  private async leavesNothing(): Promise<void> {
    await this.api
      .with({ origin: `https://127.0.0.1:${this.options.port}` })
      .expect(204, "DELETE", `/v2/sandboxes/${this.sandbox}`)
    const ours = `label=com.docker.compose.project=${this.options.project}`
    await this.composition.down()
    for (const kind of [
      ["ps", "--all"],
      ["network", "ls"],
      ["volume", "ls"]
    ]) {
      assert.equal(await this.composition.docker(...kind, "--quiet", "--filter", ours), "")
    }
  }
}
