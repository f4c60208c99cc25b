/**
 * A program that runs both in a Sandbox and here, so that the connection into the Sandbox can be measured beside the
 * direct one.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { build } from "esbuild"
import type { BenchService } from "./BenchService.ts"

export const insidePort = 3000

/** HTTP `hello` and WebSocket echo on the port; `GET /bytes?n=` sends that many. Raw TCP on the next port: sends as many bytes as a line asks for. */
const source = `
import { createServer } from "node:http"
import net from "node:net"
import { WebSocketServer } from "ws"
const port = Number(process.argv[2])
const chunk = Buffer.alloc(65536, 7)
const send = (stream, count) => {
  let left = count
  const pump = () => {
    while (left > 0) {
      const part = left < chunk.length ? chunk.subarray(0, left) : chunk
      left -= part.length
      if (!stream.write(part)) return stream.once("drain", pump)
    }
    stream.end()
  }
  pump()
}
const body = Buffer.from("hello")
const server = createServer((request, response) => {
  const count = /^\\/bytes\\?n=(\\d+)$/.exec(request.url)
  if (count) { response.writeHead(200, { "content-length": count[1] }); return send(response, Number(count[1])) }
  response.writeHead(200, { "content-length": body.length }); response.end(body)
})
new WebSocketServer({ server, perMessageDeflate: false }).on("connection", (socket) => {
  socket.on("message", (data) => {
    socket.send(data, { binary: true }, () => socket.resume())
    if (socket.bufferedAmount > 1048576) socket.pause()
  })
})
net.createServer((socket) => { socket.on("error", () => {}); socket.once("data", (line) => send(socket, Number(line))) }).listen(port + 1, "127.0.0.1")
server.listen(port, "127.0.0.1", () => console.log("up"))
`

const bundle = async (): Promise<string> => {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: import.meta.dirname, loader: "js" },
    bundle: true,
    platform: "node",
    format: "esm",
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    external: ["bufferutil", "utf-8-validate"],
    write: false,
    logLevel: "silent"
  })
  return outputFiles[0]!.text
}

/** Starts it in the Sandbox and waits until it listens. */
export const startInside = async (service: BenchService, sandboxId: string): Promise<void> => {
  const answer = await fetch(`${service.base}/sandboxes/${sandboxId}/files/content?path=/workspace/program.mjs`, {
    method: "PUT",
    headers: { ...service.headers, "content-type": "application/octet-stream" },
    body: await bundle()
  })
  if (!answer.ok) throw new Error(`PUT content: ${answer.status}`)
  const { operation } = await service.call<{ operation: { id: string } }>(
    "POST",
    `/sandboxes/${sandboxId}/operations`,
    {
      argv: ["/opt/atoll/node", "/workspace/program.mjs", String(insidePort)]
    }
  )
  await service.call("POST", `/sandboxes/${sandboxId}/operations/${operation.id}/wait`, { stdoutOffset: 0 })
  for (;;) {
    const { operation: now } = await service.call<{ operation: { status: string; output: { stdoutBytes: number } } }>(
      "GET",
      `/sandboxes/${sandboxId}/operations/${operation.id}`
    )
    if (now.output.stdoutBytes > 0) return
    if (now.status !== "running" && now.status !== "queued") throw new Error(`The program is ${now.status}`)
  }
}

/** The same here. */
export const startHere = async (port: number): Promise<() => void> => {
  const child = spawn(process.execPath, ["--input-type=module", "-", String(port)], {
    cwd: import.meta.dirname,
    stdio: ["pipe", "pipe", "inherit"]
  })
  child.stdin.end(await bundle())
  const failed = once(child, "exit").then(([code]) => {
    throw new Error(`The program ended with ${code}`)
  })
  failed.catch(() => {})
  await Promise.race([once(child.stdout, "data"), failed])
  return () => void child.kill()
}
