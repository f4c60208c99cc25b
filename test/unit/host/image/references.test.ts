import { describe, expect, it } from "vitest"
import { imageReference } from "../../../../src/host/image/imageReference.ts"
import { isOfRegistry } from "../../../../src/host/image/RegistryClient.ts"

const digest = `sha256:${"a".repeat(64)}`

describe("the reference of an image", () => {
  it("names registry, repository, tag and digest", () => {
    expect(imageReference(`Registry.example.org:5000/team/app:v1.2@${digest}`)).toEqual({
      registry: "registry.example.org:5000",
      repository: "team/app",
      tag: "v1.2",
      digest
    })
    expect(imageReference("docker.io/alpine")).toEqual({
      registry: "registry-1.docker.io",
      repository: "library/alpine",
      tag: "latest",
      digest: null
    })
  })

  it.each([
    "",
    "alpine",
    "library/alpine",
    "https://example.org/a",
    "user@example.org/a",
    "example.org/../a",
    "example.org/a:b:c",
    "example.org/A",
    `example.org/a@sha256:${"a".repeat(63)}`,
    `example.org/${"a".repeat(600)}`
  ])("is refused: %s", (text) => {
    expect(() => imageReference(text)).toThrow(expect.objectContaining({ code: "IMAGE_INVALID" }))
  })
})

describe("a token server", () => {
  it.each<[string, string, boolean]>([
    ["https://auth.docker.io/token", "https://registry-1.docker.io", true],
    ["https://ghcr.io/token", "https://ghcr.io", true],
    ["https://evil.io/token", "https://ghcr.io", false],
    ["https://b.co.uk/token", "https://a.co.uk", false],
    ["https://auth.a.co.uk/token", "https://registry.a.co.uk", true],
    ["http://ghcr.io/token", "https://ghcr.io", false],
    ["https://2.3.4.5/", "https://1.3.4.5", false]
  ])("%s gets the credentials of %s: %s", (realm, registry, gets) => {
    expect(isOfRegistry(new URL(realm), new URL(registry))).toBe(gets)
  })
})
