/** Dockerfiles, built by Debian's buildah in namespace Sandboxes. */
import { existsSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { newSecret } from "../../../src/account/ApiKeySecret.ts"
import { missingPackages } from "../../../src/host/linux/programs.ts"
import { buildOutputPath } from "../../../src/runtime/buildScript.ts"
import { Runtime } from "../../../src/runtime/Runtime.ts"
import { busybox } from "../../support/host/image/busyboxImage.ts"
import { htpasswd } from "../../support/host/image/DebianRegistry.ts"
import {
  dataFolder,
  driverOn,
  freshDriver,
  isRoot,
  networkUnusable,
  skipped
} from "../../support/host/namespace/TestHost.ts"
import {
  base,
  builder,
  building,
  buildsAndBoots,
  built,
  succeeded
} from "../../support/runtime/contract/buildContract.ts"
import { commandSpec, output, run } from "../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../support/runtime/contract/sandboxSpec.ts"
import { selfSigned } from "../../support/selfSigned.ts"
import { testFolder } from "../../support/testFolder.ts"
import { upload } from "../../support/upload.ts"

const MiB = 1024 ** 2

const missing =
  networkUnusable ??
  (isRoot ? null : "builds need root") ??
  (missingPackages({ buildah: "buildah", mksquashfs: "squashfs-tools", "docker-registry": "docker-registry" }).length >
  0
    ? "buildah, squashfs-tools and docker-registry are not all here"
    : null) ??
  (existsSync(busybox) ? null : "busybox-static is not here")

const driver = freshDriver({ ATOLL_SANDBOX_PROCESSES: "200" })

/** Inside of the Sandbox: its builds reach no other one here. */
const privateRegistry = JSON.stringify({
  version: "0.1",
  log: { accesslog: { disabled: true } },
  storage: { filesystem: { rootdirectory: "/tmp/registry/images" } },
  http: { addr: "127.0.0.1:5000", tls: { certificate: "/tmp/registry/cert", key: "/tmp/registry/key" } },
  auth: { htpasswd: { realm: "tests", path: "/tmp/registry/htpasswd" } }
})

describe.skipIf(skipped(missing))("a build", () => {
  it.live(
    "has stages, arguments, ignored files, owners and users, and a Sandbox boots from its image",
    () => buildsAndBoots(60_000).pipe(Effect.provide(driver)),
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
    "begins from a private image of a registry, with the password that the build was given",
    () =>
      Effect.gen(function* () {
        const guest = yield* building("one")
        const folder = yield* testFolder
        const { cert, key } = selfSigned(folder, "registry", ["IP:127.0.0.1"])
        const login = { username: "ada", password: newSecret() }
        yield* output(guest, "mkdir /tmp/registry")
        const files = { cert, key, htpasswd: htpasswd(login), "config.yml": privateRegistry }
        for (const [name, content] of Object.entries(files)) {
          const encoded = Buffer.from(content).toString("base64")
          yield* output(guest, `echo ${encoded} | base64 -d > /tmp/registry/${name}`)
        }
        yield* guest.processes.start(
          "registry",
          commandSpec(["docker-registry", "serve", "/tmp/registry/config.yml"], { timeoutMs: null })
        )
        succeeded(yield* built(guest, base))
        const env = { SSL_CERT_FILE: "/tmp/registry/cert" }
        const push = `until curl -sk https://127.0.0.1:5000/v2/ > /dev/null; do sleep 0.1; done
printf '{"default":[{"type":"insecureAcceptAnything"}]}' > /tmp/policy.json
mkdir -p /tmp/home && export HOME=/tmp/home XDG_RUNTIME_DIR=/tmp/home _CONTAINERS_USERNS_CONFIGURED=done
own() { buildah --storage-driver vfs --root /tmp/own --runroot /tmp/home "$@"; }
id=$(own pull --signature-policy /tmp/policy.json oci-archive:${buildOutputPath}) &&
own push --signature-policy /tmp/policy.json --creds "$LOGIN" "$id" docker://127.0.0.1:5000/private/base:1`
        const pushed = commandSpec(["sh", "-c", push], {
          env: { ...env, LOGIN: `${login.username}:${login.password}` }
        })
        succeeded(yield* run(guest, pushed))
        const from = "FROM 127.0.0.1:5000/private/base:1\nRUN echo from the registry\n"
        const credentials = { registry: "127.0.0.1:5000", ...login }
        const refused = yield* built(guest, from, {}, { env })
        assert.notStrictEqual(refused.exited.exitCode, 0)
        assert.match(refused.stderr, /unauthorized|authentication required/)
        const wrong = yield* built(guest, from, { credentials: { ...credentials, password: newSecret() } }, { env })
        assert.notStrictEqual(wrong.exited.exitCode, 0)
        const result = yield* built(guest, from, { credentials }, { env })
        succeeded(result)
        assert.include(result.stdout, "from the registry")
        assert.notInclude(`${result.stdout}${result.stderr}`, login.password)
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
        // One bomb can end with 0: its shells end where they may fork no more, and the first one has waited for all
        const forks = `${base}RUN f() { f & f & wait; }; while :; do f; done\n`
        const forking = yield* Effect.forkChild(built(guest, forks, {}, { timeoutMs: 10_000 }))
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
