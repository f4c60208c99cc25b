/** Images for the pictures: one of an archive, and one that is built. A registry is not needed. */
import { randomUUID } from "node:crypto"
import type { ServiceProcess } from "../../test/support/crash/ServiceProcess.ts"
import { program, withShell } from "../../test/support/host/image/busyboxImage.ts"
import { layoutArchive } from "../../test/support/host/image/layoutArchive.ts"
import { layerOf } from "../../test/support/host/image/TestRegistry.ts"

const dockerfile = `FROM scratch
COPY busybox /bin/busybox
RUN ["/bin/busybox", "--install", "-s", "/bin"]
RUN for part in parser planner server; do echo "compiling $part"; done
COPY page.html /srv/page.html
WORKDIR /srv
`

const context = [
  { name: "Dockerfile", content: dockerfile },
  { name: "page.html", content: "<h1>It works</h1>\n" },
  program("busybox")
]

/** @param key Of full scope. A host that cannot build has only the first one. */
export const madeImages = async ({ port }: ServiceProcess, key: string): Promise<void> => {
  const send = (path: string, archive: Buffer) =>
    fetch(`http://127.0.0.1:${port}/api/v2/images/${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/x-tar",
        "idempotency-key": randomUUID()
      },
      body: new Uint8Array(archive)
    })
  for (const [path, archive] of [
    ["upload?name=toolbox", layoutArchive({ layers: [layerOf(withShell)] }).archive],
    ["build?name=web%20server", layerOf(context)]
  ] as const) {
    const answer = await send(path, archive)
    if (!answer.ok && answer.status !== 501) throw new Error(await answer.text())
  }
}
