/**
 * A small life for the pictures: the possible results of a person's first hour with Atoll, in some minutes. All
 * requests go over the API.
 */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import type { ServiceProcess } from "../../test/support/crash/ServiceProcess.ts"
import { madeImages } from "./madeImages.ts"

const bootWithinMs = 60_000
/** Measurements are shown by the minute. */
const measuredForMs = 5 * 60_000

const train = `import math, time

for epoch in range(1, 13):
    loss = 2.4 * math.exp(-epoch / 4) + 0.05 * math.sin(epoch * 3)
    print(f"epoch {epoch:2d}  loss {loss:.4f}", flush=True)
    until = time.process_time() + 0.25
    while time.process_time() < until:
        sum(i * i for i in range(1000))
    time.sleep(0.2)
print("saved weights.bin")
`

/** A varying load. */
const serve = `import datetime, http.server, math, threading, time

threading.Thread(target=http.server.ThreadingHTTPServer(("", 8000), http.server.SimpleHTTPRequestHandler).serve_forever, daemon=True).start()
kept = []
for turn in range(10_000):
    busy = 0.5 + 0.45 * math.sin(turn / 8)
    until = time.process_time() + busy
    while time.process_time() < until:
        sum(i * i for i in range(1000))
    kept.append(bytearray(300_000))
    if turn % 5 == 0:
        print(datetime.datetime.now(datetime.timezone.utc).strftime("%H:%M:%S"), f"served, {len(kept)} kept", flush=True)
    time.sleep(1)
`

const notes = `# Training run

- the data are in data.csv
- weights.bin is written at the end
`

export interface Life {
  /** Of the Sandbox in most pictures. */
  readonly sandboxId: string
  /** One that is complete, and one that is still running. */
  readonly operations: { readonly completed: string; readonly running: string }
}

/** @param key Of full scope. @param isMeasured It goes on until there are measurements to show. */
export const live = async (service: ServiceProcess, key: string, isMeasured: boolean): Promise<Life> => {
  const ask = async (method: string, path: string, body?: unknown, asIs: ReadonlyArray<number> = []) => {
    const answer = await service.ask(method, path, body, method === "POST" ? randomUUID() : undefined, key)
    if (answer.status >= 300 && !asIs.includes(answer.status)) {
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}\n${service.log}`)
    }
    return answer.body
  }
  const workspace = async (name: string): Promise<string> => (await ask("POST", "/workspaces", { name })).workspace.id
  const becomes = async (id: string, status: string) => {
    const until = Date.now() + bootWithinMs
    for (;;) {
      const { sandbox } = await ask("GET", `/sandboxes/${id}`)
      if (sandbox.status === status) return
      if (Date.now() > until) throw new Error(`${sandbox.name} is ${sandbox.status}, not ${status}`)
      await sleep(100)
    }
  }
  const sandbox = async (workspaceId: string, name: string, metadata: Record<string, string>, networkEnabled = false) =>
    (await ask("POST", "/sandboxes?wait=running", { workspaceId, name, metadata, networkEnabled })).sandbox.id as string
  const write = async (id: string, path: string, text: string) => {
    const answer = await fetch(
      `http://127.0.0.1:${service.port}/api/v2/sandboxes/${id}/files/content?path=/workspace/${path}`,
      {
        method: "PUT",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/octet-stream" },
        body: text
      }
    )
    if (!answer.ok) throw new Error(await answer.text())
  }
  const start = async (id: string, ...argv: ReadonlyArray<string>) =>
    (await ask("POST", `/sandboxes/${id}/operations`, { argv })).operation.id as string
  const ended = async (id: string, operation: string) => {
    for (;;) {
      const waited = await ask("POST", `/sandboxes/${id}/operations/${operation}/wait`, { timeoutSeconds: 20 })
      if (waited.operation.finishedAt !== null) return
    }
  }

  const research = await workspace("research")
  const production = await workspace("production")
  const training = await sandbox(research, "training run", { team: "vision", stage: "test" }, true)
  const nightly = await sandbox(production, "nightly build", { team: "platform", stage: "live" })
  await sandbox(production, "customer demo", { team: "sales" })
  const notebook = await sandbox(research, "notebook", { team: "vision" })
  const old = await sandbox(research, "first try", {})

  await ask("DELETE", `/sandboxes/${old}`)
  const build = await start(nightly, "sh", "-c", "for i in 1 2 3; do echo compiling module $i; done; echo done")
  await ended(nightly, build)
  await ask("POST", `/sandboxes/${nightly}/stop`)
  await ask("POST", `/sandboxes/${notebook}/stop`)
  await ask("POST", `/sandboxes/${notebook}/start`)

  await ask("PATCH", `/sandboxes/${training}`, {
    env: { REGISTRY_TOKEN: "seen by commands only" },
    lifetime: { stopAfterIdleSeconds: 8 * 3600, deleteAfterStoppedSeconds: 30 * 86_400 }
  })

  const since = Date.now()
  await write(training, "train.py", train)
  await write(training, "serve.py", serve)
  await write(training, "notes.md", notes)
  await write(training, "data.csv", `x,y\n${Array.from({ length: 40 }, (_, x) => `${x},${x * x}`).join("\n")}\n`)
  await ask("POST", `/sandboxes/${training}/execute`, { argv: ["mkdir", "-p", "/workspace/results"] })
  await ended(training, await start(training, "sh", "-c", "ls -la; wc -l data.csv"))
  await ask("POST", `/sandboxes/${training}/snapshots`, { name: "before the second run" })
  await ask("POST", `/sandboxes/${training}/stop`)
  await ask("POST", `/sandboxes/${training}/start`)
  await becomes(training, "running")
  await ended(training, await start(training, "sh", "-c", "echo no such model: resnet51 >&2; exit 3"))
  const cancelled = await start(training, "sleep", "600")
  const completed = await start(training, "python3", "train.py")
  await ask("POST", `/sandboxes/${training}/operations/${cancelled}/cancel`)
  await ended(training, completed)
  await ask("POST", `/sandboxes/${training}/execute`, {
    argv: ["sh", "-c", "head -c 200000 /dev/urandom > weights.bin"]
  })
  const running = await start(training, "python3", "serve.py")
  // Without network on this host there is none.
  await ask("POST", `/sandboxes/${training}/previews`, { port: 8000 }, [400, 501, 503])
  await madeImages(service, key)
  if (isMeasured) await sleep(Math.max(0, since + measuredForMs - Date.now()))
  await ended(training, await start(training, "sh", "-c", "ls -l results weights.bin; tail -n 3 data.csv"))
  return { sandboxId: training, operations: { completed, running } }
}
