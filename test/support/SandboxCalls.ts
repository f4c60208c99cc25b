/** A client's calls for a Sandbox of a served service. */
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { Readable } from "node:stream"
import { assert } from "@effect/vitest"
import type { ServedAtoll } from "./ServedAtoll.ts"

/** Of a new running Sandbox. */
export const newSandboxOf = async (atoll: ServedAtoll["Service"], options?: { readonly networkEnabled: boolean }) => {
  const { port, key, send } = atoll
  const id = await atoll.newSandbox(key, options)
  const path = `/api/v2/sandboxes/${id}`
  /**
   * The answer's body as JSON; a status other than this fails the test. Bytes are sent as a file's content, everything
   * else as JSON.
   */
  const ask = async (method: string, call: string, expected: number, body?: unknown) => {
    const isFile = Buffer.isBuffer(body)
    const { status, text, json } = await send(method, `${path}${call}`, {
      ...(body === undefined ? {} : { body }),
      headers: { "idempotency-key": randomUUID(), ...(isFile ? { "content-type": "application/octet-stream" } : {}) }
    })
    assert.strictEqual(status, expected, text)
    return json
  }
  const contentOf = (name: string) => `/files/content?path=/workspace/${name}`
  return {
    id,
    ask,
    contentOf,
    write: (name: string, content: string | Uint8Array) => ask("PUT", contentOf(name), 204, Buffer.from(content)),
    /** As an operation: it goes on. */
    start: (...argv: ReadonlyArray<string>) => ask("POST", "/operations", 202, { argv }),
    /** Copies these files of a local folder, with everything below them, into its workspace. */
    unpack: async (folder: string, names: ReadonlyArray<string>): Promise<void> => {
      const tar = spawn("tar", ["cf", "-", ...names], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] })
      const answer = await fetch(`http://127.0.0.1:${port}${path}/files/archive?path=/workspace`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/x-tar" },
        body: Readable.toWeb(tar.stdout) as ReadableStream<Uint8Array>,
        duplex: "half"
      })
      assert.strictEqual(answer.status, 200, await answer.text())
    }
  }
}
