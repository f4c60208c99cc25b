/** One project of docker compose: its files, its containers, and commands about them. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Engine } from "./Engine.ts"

const root = join(import.meta.dirname, "../../..")

export const hosts = ["host-1", "host-2", "host-3"] as const
export const services = ["service-1", "service-2"] as const

/** The services of docker-compose.yml. */
export type Service = "atoll" | "postgres" | "fleet" | (typeof hosts)[number] | (typeof services)[number]

/** What is started together: all of Atoll in one container, or a fleet of containers. */
export type Kind = "alone" | "fleet"

export const containersOf: Readonly<Record<Kind, ReadonlyArray<Service>>> = {
  alone: ["postgres", "atoll"],
  fleet: ["postgres", ...services, ...hosts, "fleet"]
}

export interface CompositionOptions {
  readonly engine: Engine
  /** An empty folder of this test. */
  readonly folder: string
  readonly project: string
  readonly kind: Kind
  readonly port: number
  readonly isPrivileged: boolean
}

const BUILD_TIMEOUT_MS = 1_800_000
const UP_TIMEOUT_MS = 300_000

export class Composition {
  private readonly options: CompositionOptions
  private files: ReadonlyArray<string>

  constructor(options: CompositionOptions) {
    this.options = options
    const isFleet = options.kind === "fleet"
    this.files = [
      join(root, isFleet ? "docker-compose.fleet.yml" : "docker-compose.yml"),
      ...(options.isPrivileged
        ? []
        : [join(root, `deploy/compose.${isFleet ? "fleet.unprivileged" : "unprivileged"}.yml`)])
    ]
  }

  /** Adds a file that overrides the present ones; the next `up` uses it. Returns the function that removes it. */
  async also(name: string, content: object): Promise<() => void> {
    const path = join(this.options.folder, `${name}.yml`)
    // JSON is YAML.
    await writeFile(path, JSON.stringify(content))
    const before = this.files
    this.files = [...before, path]
    return () => {
      this.files = before
    }
  }

  /** The services whose images are built here; the later ones reuse the layers of the first. */
  get ours(): ReadonlyArray<Service> {
    return containersOf[this.options.kind].filter((it) => it !== "postgres" && it !== "fleet")
  }

  async build(): Promise<void> {
    await this.compose(["build", ...this.ours], BUILD_TIMEOUT_MS)
  }

  async up(...more: ReadonlyArray<string>): Promise<void> {
    await this.compose(["up", "--detach", "--no-build", ...more], UP_TIMEOUT_MS)
  }

  /** The running containers, by their names in the file. */
  async running(): Promise<ReadonlyArray<string>> {
    const format = '{{.Label "com.docker.compose.service"}}'
    const project = `label=com.docker.compose.project=${this.options.project}`
    return (await this.docker("ps", "--format", format, "--filter", project)).trim().split("\n")
  }

  async down(): Promise<void> {
    await this.compose(["down", "--volumes", "--remove-orphans", "--rmi", "local"], UP_TIMEOUT_MS)
  }

  /** The output of `docker compose exec`. */
  exec(service: Service, ...command: ReadonlyArray<string>): Promise<string> {
    return this.compose(["exec", "-T", service, ...command], UP_TIMEOUT_MS)
  }

  logs(service: Service): Promise<string> {
    return this.compose(["logs", "--no-color", service], UP_TIMEOUT_MS)
  }

  /** Running or stopped: `docker compose ps` lists stopped ones in version 1 only. */
  async container(service: Service): Promise<string> {
    const labels = [`project=${this.options.project}`, `service=${service}`]
    const filters = labels.flatMap((it) => ["--filter", `label=com.docker.compose.${it}`])
    const ids = (await this.docker("ps", "--all", "--quiet", ...filters)).trim().split("\n")
    if (ids.length !== 1 || ids[0] === "") throw new Error(`${service} has no container`)
    return ids[0]!
  }

  /** A field of `docker inspect`, such as `.State.Health.Status`. */
  async inspect(service: Service, field: string): Promise<string> {
    return (await this.docker("inspect", "--format", `{{${field}}}`, await this.container(service))).trim()
  }

  docker(...args: ReadonlyArray<string>): Promise<string> {
    return this.options.engine.docker(args)
  }

  private compose(args: ReadonlyArray<string>, timeoutMs: number): Promise<string> {
    const { engine, project, port } = this.options
    const files = this.files.flatMap((file) => ["--file", file])
    return engine.compose(["--project-name", project, ...files, ...args], {
      timeoutMs,
      cwd: root,
      env: { ATOLL_PORT: String(port) }
    })
  }
}
