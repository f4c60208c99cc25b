/**
 * The minimum with node:http: one local file, streamed out and in (written aside, then renamed). Runs as a child; sends
 * its port.
 */
import { randomUUID } from "node:crypto"
import { createReadStream, createWriteStream } from "node:fs"
import { rename } from "node:fs/promises"
import { createServer } from "node:http"
import { pipeline } from "node:stream/promises"

const [, , path] = process.argv
if (path === undefined) throw new Error("Give it the file's path")

const server = createServer(async (request, response) => {
  if (request.method === "GET") return pipeline(createReadStream(path), response)
  const aside = `${path}.${randomUUID()}`
  await pipeline(request, createWriteStream(aside))
  await rename(aside, path)
  response.writeHead(204).end()
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  process.send?.(typeof address === "object" ? address?.port : null)
})
