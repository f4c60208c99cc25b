/**
 * `docker-compose.yml`, read as compose reads it: which services a command starts, and that every name in them exists.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { parse } from "yaml"
import { settings } from "../../../src/Config.ts"

const root = join(import.meta.dirname, "../../..")
const text = (path: string): string => readFileSync(join(root, path), "utf8")
const read = (path: string) => parse(text(path), { merge: true })

interface Container {
  readonly command?: ReadonlyArray<string>
  readonly network_mode?: string
  readonly depends_on?: Readonly<Record<string, unknown>>
  readonly environment: Readonly<Record<string, string | number>>
  readonly networks?:
    | ReadonlyArray<string>
    | Readonly<Record<string, { readonly aliases?: ReadonlyArray<string> } | null>>
  readonly ports?: ReadonlyArray<string>
  readonly volumes?: ReadonlyArray<string>
  readonly secrets?: ReadonlyArray<string>
  readonly privileged?: boolean
}

interface Composition {
  readonly services: Readonly<Record<string, Container>>
  readonly networks: Readonly<Record<string, unknown>>
  readonly volumes: Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}
const alone = read("docker-compose.yml") as Composition
const composition = read("docker-compose.fleet.yml") as Composition
const { services } = composition
const ofFleet = Object.keys(services).filter((name) => name !== "postgres")
const byRole = (role: string) => ofFleet.filter((name) => services[name]!.environment["ATOLL_ROLE"] === role)

const networksOf = (name: string): ReadonlyArray<string> => {
  const { networks = ["default"] } = services[name]!
  return Array.isArray(networks) ? networks : Object.keys(networks)
}

describe("docker compose", () => {
  it("starts Postgres and all of Atoll, and nothing of a fleet", () => {
    assert.deepStrictEqual(Object.keys(alone.services), ["postgres", "atoll"])
    const { environment } = alone.services["atoll"]!
    assert.deepStrictEqual(Object.keys(environment), ["DATABASE_URL", "ATOLL_PORT"])
  })

  it("starts a fleet without the one that does everything", () => {
    assert.notProperty(services, "atoll")
    assert.strictEqual(byRole("service").length, 2)
    assert.strictEqual(byRole("host").length, 3)
  })

  it("needs no .env: each variable has a default", () => {
    for (const path of ["docker-compose.yml", "docker-compose.fleet.yml"]) {
      const variables = Array.from(text(path).matchAll(/\$\{(\w+)(:-)?/g))
      for (const [, name, hasDefault] of variables) assert.strictEqual(hasDefault, ":-", `${path} ${name}`)
    }
  })

  it("lets only the services reach the database: through its socket, for it has no network", () => {
    for (const each of [alone, composition]) {
      const { postgres, ...others } = each.services
      assert.strictEqual(postgres!.network_mode, "none")
      assert.deepStrictEqual(postgres!.command, ["postgres", "-c", "listen_addresses="])
      assert.include(postgres!.volumes!, "socket:/var/run/postgresql")
      for (const [name, { environment, volumes = [] }] of Object.entries(others)) {
        const url = environment["DATABASE_URL"]
        assert.strictEqual(volumes.includes("socket:/run/postgresql"), url !== undefined, name)
        if (url !== undefined) assert.strictEqual(url, "postgres://atoll@localhost/atoll?host=/run/postgresql")
      }
    }
  })

  it("publishes only the balancer, and shows hosts nothing but services", () => {
    assert.deepStrictEqual(
      ofFleet.filter((name) => services[name]!.ports !== undefined),
      ["fleet"]
    )
    for (const name of byRole("host")) {
      assert.deepStrictEqual(networksOf(name), ["inside"])
      assert.notProperty(services[name]!.environment, "DATABASE_URL")
    }
    assert.notInclude(networksOf("fleet"), "inside")
  })

  it("gives each process existing settings, and a secret that stays out of the repository and the image", () => {
    const known = new Set<string>([...Object.values(settings).map(({ env }) => env)])
    for (const name of [...byRole("service"), ...byRole("host")]) {
      for (const setting of Object.keys(services[name]!.environment)) {
        assert.isTrue(known.has(setting), `there is no setting ${setting}`)
      }
    }
    for (const name of [...byRole("service"), ...byRole("host")]) {
      assert.deepStrictEqual(services[name]!.secrets, ["fleet"])
      assert.strictEqual(services[name]!.environment["ATOLL_FLEET_SECRET_FILE"], "/run/secrets/fleet")
    }
    const { file } = composition.secrets["fleet"]!
    for (const ignored of [".gitignore", ".dockerignore"]) {
      assert.include(text(ignored).split("\n"), file.replace("./", ""), ignored)
    }
  })

  it("names each process as the others reach it", () => {
    for (const name of byRole("service")) {
      const { networks, environment } = services[name]!
      const aliases = Object.entries(networks as Record<string, { readonly aliases?: ReadonlyArray<string> } | null>)
      // A name in one network: the process listens on that address, too.
      const named = aliases.filter(([, it]) => it?.aliases?.includes(String(environment["ATOLL_CLUSTER_HOST"])))
      assert.deepStrictEqual(
        named.map(([network]) => network),
        ["inside"]
      )
    }
    for (const name of byRole("host")) {
      const { environment, volumes } = services[name]!
      assert.strictEqual(environment["ATOLL_FLEET_ADDRESS"], `${name}:7070`)
      assert.strictEqual(
        environment["ATOLL_FLEET_JOIN"],
        byRole("service")
          .map((it) => `${it}:7070`)
          .join()
      )
      assert.deepStrictEqual(volumes, [`${name}:/var/lib/atoll`])
      assert.property(composition.volumes, name)
    }
    for (const name of ofFleet) {
      for (const network of networksOf(name)) if (network !== "default") assert.property(composition.networks, network)
    }
  })

  it("balances over the existing services", () => {
    const servers = Array.from(text("deploy/haproxy.cfg").matchAll(/^ {2}server (\S+) (\S+?):/gm), ([, name, at]) => {
      assert.strictEqual(name, at)
      return name
    })
    // The ready ones, and any that answers.
    assert.deepStrictEqual(servers, [...byRole("service"), ...byRole("service")])
    for (const name of byRole("service")) assert.include(networksOf(name), "front")
    assert.deepStrictEqual(networksOf("fleet"), ["front"])
  })

  it("has for each privileged container a way without", () => {
    for (const [{ services }, path] of [
      [alone, "deploy/compose.unprivileged.yml"],
      [composition, "deploy/compose.fleet.unprivileged.yml"]
    ] as const) {
      const privileged = Object.keys(services).filter((name) => services[name]!.privileged === true)
      assert.deepStrictEqual(Object.keys(read(path).services), privileged, path)
    }
  })
})
