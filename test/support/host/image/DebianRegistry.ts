/** Debian's `docker-registry` on this machine: what it answers is no choice of the test. */
import { execFileSync, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { architectureOf } from "../../../../src/host/image/imageManifest.ts"
import { freePort } from "../../freePort.ts"
import { untilFound } from "../../until.ts"

interface Login {
  readonly username: string
  readonly password: string
}

/** What an image calls its parts. */
export interface MediaTypes {
  readonly manifest: string
  readonly config: string
  readonly layer: string
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`

/** By crypt(3): Node has no bcrypt, and the registry takes nothing else. */
export const htpasswd = ({ username, password }: Login): string =>
  `${username}:${execFileSync("perl", ["-e", `print crypt($ARGV[0], '$2y$05$' . 'a' x 22)`, password], { encoding: "utf8" })}\n`

const configuration = (folder: string, port: number): string =>
  JSON.stringify({
    version: "0.1",
    log: { accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(folder, "registry") } },
    http: { addr: `127.0.0.1:${port}` },
    auth: { htpasswd: { realm: "tests", path: join(folder, "htpasswd") } }
  })

/** Ends with the scope. @param folder For its configuration and its images. */
export const debianRegistry = Effect.fnUntraced(function* (folder: string, login: Login) {
  const port = yield* Effect.promise(freePort)
  const host = `127.0.0.1:${port}`
  writeFileSync(join(folder, "htpasswd"), htpasswd(login))
  writeFileSync(join(folder, "config.yml"), configuration(folder, port))
  const ended = yield* Effect.acquireRelease(
    Effect.sync(() => spawn("docker-registry", ["serve", join(folder, "config.yml")], { stdio: "ignore" })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )
  const authorization = `Basic ${Buffer.from(`${login.username}:${login.password}`).toString("base64")}`

  const send = async (method: string, url: string, type: string, body: Buffer | null) => {
    const headers = { authorization, "content-type": type }
    const answer = await fetch(new URL(url, `http://${host}`), { method, headers, body: body && new Uint8Array(body) })
    if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`)
    return answer
  }
  const isUp = () =>
    fetch(`http://${host}/v2/`).then(
      ({ status }) => status === 401,
      () => false
    )
  yield* Effect.promise(() => untilFound(isUp))

  const bytes = "application/octet-stream"
  const blob = async (name: string, content: Buffer) => {
    const digest = digestOf(content)
    const started = await send("POST", `/v2/${name}/blobs/uploads/`, bytes, null)
    const place = new URL(started.headers.get("location")!, `http://${host}`)
    place.searchParams.set("digest", digest)
    await send("PUT", place.href, bytes, content)
    return { digest, size: content.length }
  }

  return {
    host,
    stop: Effect.sync(() => ended.kill("SIGKILL")),
    /** Returns the digest of the image's manifest. */
    push: async (name: string, tag: string, types: MediaTypes, layers: ReadonlyArray<Buffer>): Promise<string> => {
      const config = { os: "linux", architecture: architectureOf(process.arch), config: {}, rootfs: { type: "layers" } }
      const document = {
        schemaVersion: 2,
        mediaType: types.manifest,
        config: { mediaType: types.config, ...(await blob(name, Buffer.from(JSON.stringify(config)))) },
        layers: await Promise.all(layers.map(async (it) => ({ mediaType: types.layer, ...(await blob(name, it)) })))
      }
      const manifest = Buffer.from(JSON.stringify(document))
      await send("PUT", `/v2/${name}/manifests/${tag}`, types.manifest, manifest)
      return digestOf(manifest)
    }
  }
})
