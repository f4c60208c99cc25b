/**
 * The /etc of a Sandbox: the programs of the host find their configuration, and no file of the host's operator is in
 * it.
 */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, ManagedRuntime } from "effect"
import { publicConfiguration } from "../../../../src/host/namespace/publicConfiguration.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { commandSpec, run, shell } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

describe("the public part of a host's /etc", () => {
  const root = mkdtempSync(join(tmpdir(), "atoll-etc-"))
  afterAll(() => rmSync(root, { recursive: true }))
  const put = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text, { mode })
  }
  const md5 = (text: string) => createHash("md5").update(text).digest("hex")

  it("holds the unchanged files of packages, and links among them and into /usr", async () => {
    put("etc/as-shipped.conf", "shipped\n")
    put("etc/changed.conf", "password=1\n")
    put("etc/closed.conf", "shipped\n", 0o600)
    put("etc/generated.conf", "made here\n")
    put("root/x", "shipped\n")
    put("etc/init.d/x", "shipped\n")
    put("etc/passwd", "root:x:0:0::/root:/bin/sh\n")
    mkdirSync(join(root, "etc/fonts/conf.d"), { recursive: true })
    symlinkSync("/usr/share/fontconfig/conf.avail/10.conf", join(root, "etc/fonts/conf.d/10.conf"))
    symlinkSync("../usr/bin/vi", join(root, "etc/editor"))
    symlinkSync("/bin/nc.openbsd", join(root, "etc/nc"))
    symlinkSync("/binary", join(root, "etc/binary"))
    symlinkSync("as-shipped.conf", join(root, "etc/alias.conf"))
    symlinkSync("changed.conf", join(root, "etc/leak.conf"))
    symlinkSync("/root/.secret", join(root, "etc/outside"))
    symlinkSync("/proc/self/environ", join(root, "etc/odd"))
    symlinkSync("/etc/changed.conf", join(root, "etc/shipped-link.conf"))
    const digest = md5("shipped\n")
    put(
      "var/lib/dpkg/status",
      `Package: a\nConffiles:\n${["as-shipped", "changed", "closed", "gone", "shipped-link", "../root/x"]
        .map((name) => ` /etc/${name}.conf ${digest}`)
        .join("\n")}\n /etc/../root/x ${digest}\n /etc/rc2.d/S01x ${digest} obsolete\nDescription: a\n`
    )
    const { files, links } = await publicConfiguration(root)
    assert.deepStrictEqual(
      [...files].map(([path, bytes]) => [path, String(bytes)]),
      [["/etc/as-shipped.conf", "shipped\n"]]
    )
    assert.deepStrictEqual(
      new Map([...links].toSorted()),
      new Map([
        ["/etc/alias.conf", "as-shipped.conf"],
        ["/etc/editor", "../usr/bin/vi"],
        ["/etc/fonts/conf.d/10.conf", "/usr/share/fontconfig/conf.avail/10.conf"],
        ["/etc/nc", "/bin/nc.openbsd"]
      ])
    )
  })
})

describe.skipIf(skipped(unusable))("the /etc of a Sandbox", () => {
  const host = ManagedRuntime.make(freshDriver({}))
  const driver = Effect.promise(() => host.runPromise(Runtime))
  beforeAll(async () => {
    await host.runPromise(Effect.flatMap(Runtime, (it) => it.provision(sandboxSpec("configured"))))
  })
  afterAll(() => host.dispose())

  it.live("leaves no link of a program in /usr dangling that the host itself resolves", () =>
    Effect.gen(function* () {
      const guest = yield* Effect.flatMap(driver, (it) => it.guest("configured", 1))
      const listed = yield* run(
        guest,
        commandSpec([
          "find",
          "/usr/bin",
          "/usr/sbin",
          "/usr/lib",
          "-xdev",
          "-type",
          "l",
          "-lname",
          "/etc/*",
          "-xtype",
          "l"
        ])
      )
      const broken = listed.stdout
        .split("\n")
        .filter((path) => path !== "" && existsSync(path) && (statSync(path).mode & 0o004) !== 0)
        // The operator's own file: Sandboxes must not see it.
        .filter((path) => realpathSync(path) !== "/etc/environment")
      assert.deepStrictEqual(broken, [])
    })
  )

  it.live("is read-only and shows neither accounts nor keys of the host", () =>
    Effect.gen(function* () {
      const guest = yield* Effect.flatMap(driver, (it) => it.guest("configured", 1))
      const { stdout } = yield* run(
        guest,
        shell(
          "touch /etc/x /etc/hosts 2>&1; ls /etc/shadow /etc/sudoers /etc/ssh/*key* /etc/machine-id 2>/dev/null; cat /etc/passwd"
        )
      )
      assert.notInclude(stdout, "/etc/shadow\n")
      assert.match(stdout, /Read-only file system/)
      assert.deepStrictEqual(
        stdout
          .split("\n")
          .filter((line) => /^[a-z]+:x:/.test(line))
          .map((line) => line.split(":")[0]),
        ["root", "sandbox", "nobody"]
      )
    })
  )
})
