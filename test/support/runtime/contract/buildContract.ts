/** Builds in a Sandbox that is made for them, and what every driver's build does. */
import { readFileSync } from "node:fs"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import {
  type BuildCommand,
  buildCommand,
  buildDockerfilePath,
  buildOutputPath
} from "../../../../src/runtime/buildScript.ts"
import type { Guest, ProcessSpec } from "../../../../src/runtime/Guest.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { busybox } from "../../host/image/busyboxImage.ts"
import { upload } from "../../upload.ts"
import { commandSpec, type Ended, output, run } from "./commands.ts"
import { sandboxSpec } from "./sandboxSpec.ts"

const MiB = 1024 ** 2

export const builder = { builder: true, networkEnabled: true, volumeBytes: 512 * MiB, memoryBytes: 512 * MiB } as const

/** An image with busybox as its shell. */
export const base = `FROM scratch AS base
COPY busybox /bin/busybox
RUN ["/bin/busybox", "--install", "-s", "/bin"]
`

/** A new Sandbox that builds, with busybox in its context. */
export const building = Effect.fnUntraced(function* (sandboxId: string, snapshotId?: string) {
  const runtime = yield* Runtime
  yield* runtime.provision(sandboxSpec(sandboxId, { ...builder, ...(snapshotId === undefined ? {} : { snapshotId }) }))
  const guest = yield* runtime.guest(sandboxId, 1)
  if (snapshotId === undefined) yield* guest.files.write("/workspace/busybox", upload([readFileSync(busybox)]))
  yield* output(guest, "chmod 755 /workspace/busybox")
  return guest
})

export const built = Effect.fnUntraced(function* (
  guest: Guest,
  dockerfile: string,
  changes: Partial<BuildCommand> = {},
  spec: Partial<Pick<ProcessSpec, "env" | "timeoutMs">> = {}
) {
  yield* guest.files.write(buildDockerfilePath, upload([Buffer.from(dockerfile)]))
  const plain = { dockerfile: null, context: "/workspace", target: null, buildArgs: {}, credentials: null }
  const { argv, env } = buildCommand({ ...plain, ...changes })
  return yield* run(guest, commandSpec(argv, { timeoutMs: 60_000, ...spec, env: { ...env, ...spec.env } }))
})

export const succeeded = ({ exited, stdout, stderr }: Ended) =>
  assert.strictEqual(exited.exitCode, 0, `${stdout}${stderr}`)

/** A Sandbox from the image that was built. */
const booted = Effect.fnUntraced(function* (guest: Guest, imageId: string) {
  const { images, provision, guest: guestOf } = yield* Runtime
  yield* Effect.scoped(
    Effect.flatMap(guest.files.read(buildOutputPath, { offset: 0, maxBytes: 64 * MiB, version: null }), ({ body }) =>
      images.receive(imageId, body)
    )
  )
  const { digest, config } = yield* images.accept(imageId)
  yield* provision(sandboxSpec(imageId, { image: { reference: digest, digest, credentials: null } }))
  return { config, guest: yield* guestOf(imageId, 1) }
})

/** Stages, arguments, ignored files, owners and users; and a Sandbox boots from the image. */
export const buildsAndBoots = Effect.fnUntraced(function* (timeoutMs: number) {
  const runtime = yield* Runtime
  assert.isNull(yield* runtime.images.buildObstacle)
  const guest = yield* building("one")
  yield* output(guest, "mkdir sub; echo kept > sub/kept; echo secret > sub/ignored; echo sub/ignored > .dockerignore")
  const hostile = `"; touch /workspace/owned; $(touch /workspace/owned) '`
  const result = yield* built(
    guest,
    `${base}
FROM base AS maker
ARG GREETING
RUN echo "$GREETING" > /greeting && echo root:x:0:0::/:/bin/sh > /etc/passwd && echo ada:x:1001:1001::/:/bin/sh >> /etc/passwd \\
  && mkdir /own && chown 1001:2002 /own && chmod 2770 /own && su ada -c "id -u > /own/id; id -g >> /own/id"
FROM base AS last
COPY --from=maker /greeting /own/id /
COPY --from=maker --chown=1000:1000 /own /own
COPY . /context
ENV COLOUR=blue
WORKDIR /own
FROM base AS unused
RUN exit 9
`,
    { target: "last", buildArgs: { GREETING: hostile, UNUSED: "--help" } },
    { timeoutMs }
  )
  succeeded(result)
  assert.include(result.stdout, "STEP")
  assert.strictEqual(
    yield* output(guest, "ls -A /workspace | grep -v lost+found | sort | tr '\\n' ' '"),
    ".atoll-image.tar .dockerignore busybox sub"
  )
  const image = yield* booted(guest, "image")
  assert.deepStrictEqual(image.config.env["COLOUR"], "blue")
  assert.strictEqual(image.config.workingDir, "/own")
  assert.strictEqual(yield* output(image.guest, "cat /greeting /id; ls /context/sub"), `${hostile}\n1001\n1001\nkept`)
})
