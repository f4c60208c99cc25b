/** One database, two data folders: the second process would take every Sandbox for lost. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { bundledOnce } from "../../support/bundledOnce.ts"
import { ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const main = join(import.meta.dirname, "../../../src/main.ts")

const freePort = async () => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

/** Starts a process that should refuse to run; resolves with its exit code and its output. */
const refused = async (environment: Readonly<Record<string, string>>) => {
  const child = spawn(process.execPath, [main], {
    env: {
      PATH: process.env["PATH"],
      ...bundledOnce,
      ATOLL_RUNTIME: "simulated",
      ATOLL_PORT: "0",
      ATOLL_RECONCILE_INTERVAL_MS: "200",
      ...environment
    },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let said = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      said += chunk
    })
  }
  const kill = setTimeout(() => child.kill("SIGKILL"), 120_000)
  const [code] = await once(child, "exit")
  clearTimeout(kill)
  return { code, said }
}

const running = async (service: ServiceProcess) => {
  const { body } = await service.ask("POST", "/workspaces", { name: "hosts" }, "w")
  const request = { workspaceId: body.workspace.id, name: "one", networkEnabled: false }
  const created = await service.ask("POST", "/sandboxes", request, "s")
  const { id } = created.body.sandbox
  while ((await service.ask("GET", `/sandboxes/${id}`)).body.sandbox.status !== "running") {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return id as string
}

const withCluster = (test: (service: ServiceProcess, url: string) => Promise<void>) =>
  Effect.gen(function* () {
    const { url } = yield* TestDatabase
    yield* Effect.promise(async () => {
      const [service] = await ServiceProcess.cluster(1, { DATABASE_URL: url, ATOLL_RUNTIME: "simulated" })
      try {
        await service!.start()
        await test(service!, url)
      } finally {
        await service!.kill()
        service!.remove()
      }
    })
  }).pipe(Effect.provide(TestDatabase.bare))

it.live(
  "a process with another data folder is refused with a sentence, and hurts nothing",
  () =>
    withCluster(async (service, url) => {
      const sandbox = await running(service)
      const folder = mkdtempSync(join(tmpdir(), "atoll-second-"))
      try {
        const port = await freePort()
        const { code, said } = await refused({
          DATABASE_URL: url,
          ATOLL_DATA_DIR: folder,
          ATOLL_CLUSTER_PORT: String(port)
        })
        assert.strictEqual(code, 69, said)
        assert.include(said, `The Sandboxes of this database live in the data folder ${service.dataDir} of `)
        // Nor by the operator's word, as long as a process uses the folder.
        const host = /ATOLL_LOST_HOST=(host_[0-9a-f]+)/.exec(said)?.[1]
        assert.isDefined(host)
        const again = await refused({
          DATABASE_URL: url,
          ATOLL_DATA_DIR: folder,
          ATOLL_CLUSTER_PORT: String(port),
          ATOLL_LOST_HOST: host!
        })
        assert.strictEqual(again.code, 69, again.said)
        assert.strictEqual((await service.ask("GET", `/sandboxes/${sandbox}`)).body.sandbox.status, "running")
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }),
  120_000
)

it.live(
  "a database without Sandboxes may move to another folder, and one whose folder is lost may move by the operator's word",
  () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      yield* Effect.promise(async () => {
        const environment = { DATABASE_URL: url, ATOLL_RUNTIME: "simulated" }
        const first = await ServiceProcess.make(environment)
        const second = await ServiceProcess.make(environment)
        try {
          await first.start()
          await first.stop()
          // Nothing is left, so nothing can be lost. (The account's key is the first process's.)
          await second.start("/healthz")
          await second.stop()
          await first.start()
          const sandbox = await running(first)
          await first.kill()
          const { code, said } = await refused({ ...environment, ATOLL_DATA_DIR: second.dataDir })
          assert.strictEqual(code, 69, said)
          const host = /ATOLL_LOST_HOST=(host_[0-9a-f]+)/.exec(said)?.[1]
          await second.start("/healthz", { ATOLL_LOST_HOST: host! })
          await second.stop()
          const back = await refused({ ...environment, ATOLL_DATA_DIR: first.dataDir })
          assert.strictEqual(back.code, 69, `${sandbox}: ${back.said}`)
        } finally {
          await Promise.all([first.kill(), second.kill()])
          first.remove()
          second.remove()
        }
      })
    }).pipe(Effect.provide(TestDatabase.bare)),
  120_000
)
