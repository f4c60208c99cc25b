/** Servers in processes of their own that answer each request with the same JSON. */
import { spawn } from "node:child_process"
import { join } from "node:path"

export interface ConstantServer {
  readonly url: string
  readonly stop: () => void
}

const started = async (args: ReadonlyArray<string>): Promise<ConstantServer> => {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] })
  const port = await new Promise<string>((resolve) =>
    child.stdout.once("data", (data: Buffer) => resolve(data.toString().trim()))
  )
  return { url: `http://127.0.0.1:${port}/api/v2/sandboxes/x`, stop: () => void child.kill() }
}

const bareSource = `const b = Buffer.from(process.argv[1]); require("node:http").createServer((_, r) => { r.writeHead(200, { "content-type": "application/json", "content-length": b.length }); r.end(b) }).listen(0, "127.0.0.1", function () { console.log(this.address().port) })`

/** `node:http`, with nothing around it. */
export const bareServer = (body: string): Promise<ConstantServer> => started(["-e", bareSource, body])

/** What each kind has: `EffectServer.ts`. */
export const effectServer = (kind: "router" | "api" | "checked", body: string): Promise<ConstantServer> =>
  started([join(import.meta.dirname, "EffectServer.ts"), kind, body])
