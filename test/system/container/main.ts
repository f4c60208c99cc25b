/**
 * `npm run test:container [-- --privileged] [--only alone | fleet]`: the Dockerfile and docker-compose.yml for real.
 * Builds the image, brings it up with Postgres, runs the API's main path over the published port, kills and restarts
 * each container, serves HTTPS, and takes everything down.
 * Then the same with a fleet: two services behind a balancer and three hosts, each of which is killed under a client.
 * Uses the engine that answers here, else, as root, a private one (`Engine.ts`); the base images are made here where
 * they cannot be pulled (`baseImages.ts`). Without an engine it fails with a sentence. `--privileged`:
 * docker-compose.yml alone; without it, deploy/compose.unprivileged.yml is added, which more engines allow.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { baseNames, provideBases } from "./baseImages.ts"
import { Composition, containersOf, type Kind } from "./Composition.ts"
import { type Engine, findEngine, NoEngine } from "./Engine.ts"
import { FleetTrial } from "./FleetTrial.ts"
import { quietPort } from "./quietPort.ts"
import { Trial } from "./Trial.ts"

const { values } = parseArgs({
  options: { privileged: { type: "boolean", default: false }, only: { type: "string" } }
})
const kinds = (["alone", "fleet"] as const).filter((kind) => values.only === undefined || values.only === kind)

const say = (text: string): void => console.log(text)

const began = performance.now()
const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`

/** Prints each step, and its duration. */
const step = async <A>(title: string, work: () => Promise<A>): Promise<A> => {
  const since = performance.now()
  try {
    const done = await work()
    say(`ok      ${title} (${seconds(since)})`)
    return done
  } catch (fault) {
    say(`FAILED  ${title} (${seconds(since)})`)
    throw fault
  }
}

// Ctrl-C ends the running step, whose failure then takes everything down. A second one ends the program immediately.
process.once("SIGINT", () => say("Taking everything down; press Ctrl-C again to end immediately."))

const tryKind = async (engine: Engine, kind: Kind): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), "atoll-container-"))
  const port = await quietPort()
  const project = `atoll-trial-${kind}-${process.pid}`
  const composition = new Composition({ engine, folder, project, kind, port, isPrivileged: values.privileged })
  try {
    // A container reaches no other network where the engine sets up no packet filter.
    if (engine.isOwn) {
      const build = { context: join(import.meta.dirname, "../../.."), network: "host" }
      await composition.also("build", { services: Object.fromEntries(composition.ours.map((it) => [it, { build }])) })
    }
    const options = { composition, folder, port, engine, project }
    const trial = kind === "alone" ? new Trial(options) : new FleetTrial(options)
    for (const [title, work] of trial.steps) await step(title, work)
  } catch (fault) {
    for (const service of containersOf[kind]) {
      const logs = await composition.logs(service).catch(() => "")
      say(`\n${service}:\n${logs.split("\n").slice(-25).join("\n")}`)
    }
    throw fault
  } finally {
    await composition.down().catch((fault: unknown) => say(String(fault)))
    await rm(folder, { recursive: true, force: true })
  }
}

const main = async (): Promise<void> => {
  const engine = await findEngine()
  try {
    say(engine.isOwn ? "No engine answers here: starting a private one." : "The engine that answers here is used.")
    const bases = kinds.includes("fleet") ? (["node", "postgres", "haproxy"] as const) : (["node", "postgres"] as const)
    const told = await step("the images that ours is made from", async () =>
      provideBases(engine, await baseNames(), bases)
    )
    for (const sentence of told) say(`        ${sentence}`)
    for (const kind of kinds) {
      say(kind === "alone" ? "All in one:" : "A fleet:")
      await tryKind(engine, kind)
    }
    say(`All of it works (${seconds(began)}).`)
  } finally {
    await engine.close()
  }
}

main().catch((fault: unknown) => {
  console.error(fault instanceof NoEngine ? fault.message : fault)
  process.exitCode = 1
})
