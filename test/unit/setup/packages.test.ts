import { readFileSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { packages } from "../../../src/host/namespace/probe.ts"
import { recipe } from "../../../src/host/qemu/image/recipe.ts"
import { packages as machinePackages } from "../../../src/host/qemu/probe.ts"

// Plain JavaScript, so that any Node can run it.
const setup: { readonly servicePackages: Readonly<Record<string, string>> } = await import(
  new URL("../../../scripts/setup.mjs", import.meta.url).href
)

describe("npm run up", () => {
  it("installs every Debian package that the namespace runtime names", () => {
    assert.includeMembers(Object.values(setup.servicePackages), [...packages])
  })
})

describe("npm run vm:image", () => {
  it("installs every Debian package that the VM runtime names", () => {
    const script = readFileSync(new URL("../../../scripts/vm.mjs", import.meta.url), "utf8")
    const named = Array.from(script.matchAll(/"([\w-]+)"/g), ([, name]) => name)
    assert.includeMembers(named, [...machinePackages])
  })
})

describe("the Dockerfile", () => {
  const text = readFileSync(new URL("../../../Dockerfile", import.meta.url), "utf8")
  const [, list] = /--no-install-recommends ([^&]*)&&/.exec(text) ?? []
  const installed = list?.split(/[\s\\]+/) ?? []

  it("installs every Debian package that the namespace runtime names", () => {
    assert.includeMembers(installed, [...packages])
  })

  it("gives Sandboxes the programs of a virtual machine, except those that are useless without root", () => {
    const rootless = recipe.packages.filter((it) => !["busybox-static", "iputils-ping", "sudo"].includes(it))
    assert.includeMembers(installed, rootless)
  })
})
