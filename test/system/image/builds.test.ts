/** Dockerfiles, built by Debian's buildah in namespace Sandboxes. */
import { existsSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { missingPackages } from "../../../src/host/linux/programs.ts"
import {
  type BuildCommand,
  buildCommand,
  buildDockerfilePath,
  buildOutputPath
} from "../../../src/runtime/buildScript.ts"
import type { Guest } from "../../../src/runtime/Guest.ts"
import { Runtime } from "../../../src/runtime/Runtime.ts"
import { busybox } from "../../support/host/image/busyboxImage.ts"
import {
  dataFolder,
  driverOn,
  freshDriver,
  isRoot,
  networkUnusable,
  skipped
} from "../../support/host/namespace/TestHost.ts"
import { commandSpec, output, run } from "../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../support/runtime/contract/sandboxSpec.ts"
import { upload } from "../../support/upload.ts"

const MiB = 1024 ** 2

const missing =
  networkUnusable ??
  (isRoot ? null : "builds need root") ??
  (missingPackages({ buildah: "buildah", mksquashfs: "squashfs-tools" }).length > 0
    ? "buildah and squashfs-tools are not both here"
    : null) ??
  (existsSync(busybox) ? null : "busybox-static is not here")

const builder = { builder: true, networkEnabled: true, volumeBytes: 512 * MiB, memoryBytes: 512 * MiB } as const
const driver = freshDriver({ ATOLL_SANDBOX_PROCESSES: "200" })

/** An image with busybox as its shell. */
const base = `FROM scratch AS base
COPY busybox /bin/busybox
RUN ["/bin/busybox", "--install", "-s", "/bin"]
`

/** A new Sandbox that builds, with busybox in its context. */
const building = Effect.fnUntraced(function* (sandboxId: string, snapshotId?: string) {
  const runtime = yield* Runtime
  yield* runtime.provision(sandboxSpec(sandboxId, { ...builder, ...(snapshotId === undefined ? {} : { snapshotId }) }))
  const guest = yield* runtime.guest(sandboxId, 1)
  if (snapshotId === undefined) yield* guest.files.write("/workspace/busybox", upload([readFileSync(busybox)]))
  yield* output(guest, "chmod 755 /workspace/busybox")
  return guest
})

const built = Effect.fnUntraced(function* (
  guest: Guest,
  dockerfile: string,
  changes: Partial<BuildCommand> = {},
  timeoutMs = 60_000
) {
  yield* guest.files.write(buildDockerfilePath, upload([Buffer.from(dockerfile)]))
  const plain = { dockerfile: null, context: "/workspace", target: null, buildArgs: {}, credentials: null }
  const { argv, env } = buildCommand({ ...plain, ...changes })
  return yield* run(guest, commandSpec(argv, { env, timeoutMs }))
})

const succeeded = ({ exited, stderr }: Effect.Success<ReturnType<typeof built>>) =>
  assert.strictEqual(exited.exitCode, 0, stderr)

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

describe.skipIf(skipped(missing))("a build", () => {
  it.live(
    "has stages, arguments, ignored files, owners and users, and a Sandbox boots from its image",
    () =>
      Effect.gen(function* () {
        const runtime = yield* Runtime
        assert.isNull(yield* runtime.images.buildObstacle)
        const guest = yield* building("one")
        yield* output(
          guest,
          "mkdir sub; echo kept > sub/kept; echo secret > sub/ignored; echo sub/ignored > .dockerignore"
        )
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
          { target: "last", buildArgs: { GREETING: hostile, UNUSED: "--help" } }
        )
        succeeded(result)
        assert.include(result.stdout, "STEP")
        assert.strictEqual(
          yield* output(guest, "ls -A /workspace | sort | tr '\\n' ' '"),
          ".atoll-image.tar .dockerignore busybox sub"
        )
        const image = yield* booted(guest, "image")
        assert.deepStrictEqual(image.config.env["COLOUR"], "blue")
        assert.strictEqual(image.config.workingDir, "/own")
        assert.strictEqual(
          yield* output(image.guest, "cat /greeting /id; ls /context/sub"),
          `${hostile}\n1001\n1001\nkept`
        )
      }).pipe(Effect.provide(driver)),
    120_000
  )

  it.live(
    "tells by its exit code that a step, a Dockerfile or a stage is wrong, and leaves no image",
    () =>
      Effect.gen(function* () {
        const guest = yield* building("one")
        const failing = yield* built(guest, `${base}RUN echo before; exit 7\n`)
        assert.notStrictEqual(failing.exited.exitCode, 0)
        assert.include(failing.stdout, "before")
        for (const wrong of [
          built(guest, "NOTHING\n"),
          built(guest, base, { target: "--help" }),
          built(guest, base, { dockerfile: "-" }),
          built(guest, base, { context: "/workspace/$(touch owned)" })
        ])
          assert.notStrictEqual((yield* wrong).exited.exitCode, 0)
        assert.strictEqual(yield* output(guest, "ls -A /workspace"), "busybox")
      }).pipe(Effect.provide(driver)),
    120_000
  )

  it.live(
    "that forks without end, or fills its disk, is cut off, while other Sandboxes answer",
    () =>
      Effect.gen(function* () {
        const runtime = yield* Runtime
        yield* runtime.provision(sandboxSpec("other"))
        const guest = yield* building("one")
        const forks = `${base}RUN f() { f & f & wait; }; f\n`
        const forking = yield* Effect.forkChild(built(guest, forks, {}, 10_000))
        const other = yield* runtime.guest("other", 1)
        for (let tries = 0; tries < 5; tries++) {
          assert.strictEqual(yield* output(other, "echo well"), "well")
          yield* Effect.sleep(1_000)
        }
        const { exited } = yield* Fiber.join(forking)
        assert.isTrue(exited.timedOut || exited.exitCode !== 0)
        const full = yield* built(guest, `${base}RUN dd if=/dev/zero of=/big bs=1M\n`)
        assert.notStrictEqual(full.exited.exitCode, 0)
        assert.include(`${full.stdout}${full.stderr}`, "No space left on device")
        yield* runtime.destroy("one")
        assert.strictEqual(yield* output(other, "echo well"), "well")
      }).pipe(Effect.provide(driver)),
    120_000
  )

  it.live(
    "sees by a bind mount of a link to the root only its Sandbox",
    () =>
      Effect.gen(function* () {
        const guest = yield* building("one")
        yield* output(guest, "ln -s / root; ln -s /proc/1/root init")
        const mounts = ["root", "init", "/"].map(
          (source, index) =>
            `RUN --mount=type=bind,source=${source},target=/host${index},rw ls -A /host${index}; cat /host${index}/etc/shadow; touch /host${index}/usr/x; true`
        )
        const { stdout, stderr } = yield* built(guest, `${base}${mounts.join("\n")}\n`)
        const hosts = readFileSync("/etc/shadow", "utf8").split("\n")[0]!
        assert.notInclude(stdout, hosts)
        assert.notInclude(stdout, "lost+found", stderr)
        assert.isFalse(existsSync("/usr/x"))
      }).pipe(Effect.provide(driver)),
    120_000
  )
})

describe.skipIf(skipped(missing))("a Sandbox that builds", () => {
  it.live(
    "is made of a snapshot, keeps the files of its many users over a boot, and has no snapshots itself",
    () =>
      Effect.gen(function* () {
        const runtime = yield* Runtime
        yield* runtime.provision(sandboxSpec("origin", { volumeBytes: 512 * MiB }))
        const origin = yield* runtime.guest("origin", 1)
        yield* origin.files.write("/workspace/busybox", upload([readFileSync(busybox)]))
        yield* runtime.snapshots.capture("context", "origin")
        const guest = yield* building("one", "context")
        yield* output(guest, "echo mine > owned; chown 5:65534 owned; chgrp 7 busybox")
        succeeded(yield* built(guest, `${base}RUN chown 1000:65534 /bin/busybox\n`))
        const refusal = yield* Effect.flip(runtime.snapshots.capture("own", "one"))
        assert.deepInclude(refusal, { _tag: "RuntimeRefused", code: "SNAPSHOT_UNUSABLE" })
        yield* runtime.stop("one", 1)
        yield* runtime.provision(sandboxSpec("one", { ...builder, generation: 2, snapshotId: "context" }))
        const again = yield* runtime.guest("one", 2)
        assert.strictEqual(yield* output(again, "stat -c %u:%g owned busybox; id -u"), "5:65534\n0:7\n0")
        // The customer's own Sandboxes are as they were.
        assert.strictEqual(yield* output(origin, "stat -c %u:%g busybox; id -u"), "1000:1000\n1000")
      }).pipe(Effect.provide(driver)),
    120_000
  )

  it.live(
    "is adopted by the next service, and its removal leaves nothing",
    () =>
      Effect.gen(function* () {
        const folder = dataFolder()
        const inService = <A, E>(act: Effect.Effect<A, E, Runtime>) => Effect.provide(act, driverOn(folder))
        yield* inService(
          Effect.gen(function* () {
            const guest = yield* building("one")
            yield* guest.processes.start("long", commandSpec(["sleep", "3600"], { timeoutMs: null }))
          })
        )
        yield* inService(
          Effect.gen(function* () {
            const runtime = yield* Runtime
            const guest = yield* runtime.guest("one", 1)
            assert.strictEqual(yield* output(guest, "id -u; pgrep -c sleep"), "0\n1")
            succeeded(yield* built(guest, base))
            yield* runtime.destroy("one")
            assert.deepStrictEqual(yield* runtime.inventory, [])
          })
        )
        const mounts = readFileSync("/proc/mounts", "utf8")
        assert.notInclude(mounts, folder)
      }),
    120_000
  )
})
