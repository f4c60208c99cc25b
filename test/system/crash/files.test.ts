/**
 * Files that are being written while the service is killed with -9: each holds one whole content, the last acknowledged
 * or a later one.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { Effect } from "effect"
import { assert, it } from "vitest"
import { probe } from "../../../src/host/namespace/probe.ts"
import { ServiceProcess } from "../../support/crash/ServiceProcess.ts"

const files = 3
const rounds = 3
const bytes = 2 * 1024 * 1024
const letters = "abcdefghijklmnopqrstuvwxyz"
const settleWithinMs = 90_000

it("a service that is killed leaves whole files and no staging files", { timeout: 300_000 }, async (context) => {
  const found = await Effect.runPromise(probe)
  if (!found.ok) {
    console.warn(`Skipped: ${found.reason}`)
    return context.skip(found.reason)
  }
  const service = await ServiceProcess.make()
  try {
    await service.start()
    const { body: made } = await service.ask("POST", "/workspaces", { name: "files" }, "w")
    const { body } = await service.ask(
      "POST",
      "/sandboxes",
      { workspaceId: made.workspace.id, networkEnabled: false },
      "s"
    )
    const sandbox = `/sandboxes/${body.sandbox.id}`
    while ((await service.ask("GET", sandbox)).body.sandbox.status === "pending") await sleep(20)
    const contentOf = (file: number) => `${sandbox}/files/content?path=/workspace/file-${file}`

    /**
     * For each file the round that was acknowledged last, and the one that was sent last. A round is written as its
     * letter.
     */
    const acknowledged = Array.from({ length: files }, () => -1)
    const sent = Array.from({ length: files }, () => -1)
    const write = async (file: number) => {
      for (;;) {
        const turn = ++sent[file]!
        const content = Buffer.alloc(bytes, letters[turn % letters.length])
        const answer = await service.bytes("PUT", contentOf(file), content).catch(() => null)
        if (answer === null) return
        assert.strictEqual(answer.status, 204)
        acknowledged[file] = turn
      }
    }
    const names = async () => {
      const { body } = await service.ask("GET", `${sandbox}/files/list?path=/workspace`)
      return body.entries.map(({ name }: { readonly name: string }) => name).toSorted()
    }
    const hidden = async () =>
      (await service.ask("POST", `${sandbox}/execute`, { argv: ["ls", "-A", "/workspace"] })).body.result.stdout

    for (let round = 0; round < rounds; round++) {
      const writing = Promise.all(acknowledged.map((_, file) => write(file)))
      while (acknowledged.some((turn) => turn < round)) await sleep(1)
      await sleep(Math.random() * 300)
      await service.kill()
      await writing
      await service.start()
      for (let file = 0; file < files; file++) {
        const read = await service.bytes("GET", contentOf(file))
        assert.strictEqual(read.status, 200)
        const letter = String.fromCharCode(read.bytes[0]!)
        assert.isTrue(read.bytes.equals(Buffer.alloc(bytes, letter)), `file ${file} is a mix`)
        const possible = Array.from(
          { length: sent[file]! - acknowledged[file]! + 1 },
          (_, later) => letters[(acknowledged[file]! + later) % letters.length]
        )
        assert.include(possible, letter, `file ${file}`)
      }
      assert.deepStrictEqual(await names(), ["file-0", "file-1", "file-2"])
      const end = Date.now() + settleWithinMs
      while ((await hidden()) !== "file-0\nfile-1\nfile-2\n") {
        assert.isBelow(Date.now(), end, `Something is left over: ${await hidden()}`)
        await sleep(50)
      }
    }
    await service.ask("DELETE", sandbox)
    await service.stop()
    assert.deepStrictEqual(service.leftovers, [])
  } finally {
    await service.kill()
    service.killPostgres()
    service.remove()
  }
})
