/**
 * `npm run test:container [-- --privileged | --keep]`: the Dockerfile and docker-compose.yml for real. Builds the image, brings it up with Postgres,
 * goes the API's main path over the published port, kills and restarts each container, serves HTTPS, and takes everything down.
 *
 * With the engine that answers here, else, as root, with one of its own (`Engine.ts`); the images that ours are made from are made here where they
 * cannot be pulled (`baseImages.ts`). Where there is no engine, it says so and ends well. `--privileged`: by docker-compose.yml alone; without it,
 * deploy/compose.unprivileged.yml is tried, which more engines allow.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { freePort } from "../support/freePort.ts"
import { baseNames, provideBases } from "./baseImages.ts"
import { Composition } from "./Composition.ts"
import { findEngine, NoEngine } from "./Engine.ts"
import { Trial } from "./Trial.ts"

const { values } = parseArgs({ options: { privileged: { type: "boolean", default: false } } })

const say = (text: string): void => console.log(text)

const began = performance.now()
const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`

/** Says what it does, and how long that took. */
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

// Ctrl-C ends what is running, whose failure then takes everything down. Twice: at once.
process.once("SIGINT", () => say("Taking everything down; once more ends at once."))

const main = async (): Promise<void> => {
  const engine = await findEngine()
  const folder = await mkdtemp(join(tmpdir(), "atoll-container-"))
  const port = await freePort()
  const project = `atoll-trial-${process.pid}`
  const composition = new Composition({ engine, folder, project, port, isPrivileged: values.privileged })
  try {
    say(engine.isOwn ? "No engine answers here: one of its own is started." : "The engine that answers here is used.")
    const told = await step("the images that ours is made from", async () => provideBases(engine, await baseNames()))
    for (const sentence of told) say(`        ${sentence}`)
    // A container has no way out where the engine sets up no packet filter.
    if (engine.isOwn)
      await composition.also("build", { build: { context: join(import.meta.dirname, "../.."), network: "host" } })
    const trial = new Trial({ composition, folder, port, engine })
    for (const [title, work] of trial.steps) await step(title, work)
    say(`All of it works (${seconds(began)}).`)
  } catch (fault) {
    for (const service of ["postgres", "atoll"] as const) {
      const logs = await composition.logs(service).catch(() => "")
      say(`\n${service}:\n${logs.split("\n").slice(-25).join("\n")}`)
    }
    throw fault
  } finally {
    await composition.down().catch((fault: unknown) => say(String(fault)))
    await engine.close()
    await rm(folder, { recursive: true, force: true })
  }
}

main().catch((fault: unknown) => {
  if (fault instanceof NoEngine) say(`Skipped: ${fault.message}`)
  else {
    console.error(fault)
    process.exitCode = 1
  }
})
