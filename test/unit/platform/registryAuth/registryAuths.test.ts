import { assert, describe, it } from "@effect/vitest"
import { loginFor, RegistryAuthsInvalid, registryAuthsIn } from "../../../../src/platform/registryAuth/registryAuths.ts"

const password = "pa:ss-wörd"
const auth = (text: string) => Buffer.from(text).toString("base64")
const entry = (username: string) => ({ auth: auth(`${username}:${password}`) })
const parsed = (auths: unknown) => registryAuthsIn(JSON.stringify({ auths }))

const refusalOf = (text: string): string => {
  try {
    registryAuthsIn(text)
  } catch (cause) {
    assert.instanceOf(cause, RegistryAuthsInvalid)
    return cause.message
  }
  return assert.fail(`accepted: ${text}`)
}

describe("logins for registries", () => {
  it("are found by the most specific key: a repository, a namespace, a registry", () => {
    const auths = parsed({
      "registry.example": entry("whole"),
      "registry.example/team": entry("team"),
      "registry.example/team/deep/tools": entry("tools"),
      "registry.example:5000": entry("port")
    })
    const who = (reference: string) => loginFor(auths, reference)?.username ?? null
    assert.deepStrictEqual(loginFor(auths, "registry.example/other:1"), { username: "whole", password })
    assert.deepStrictEqual(
      [
        "registry.example/team/deep/tools:1",
        `Registry.Example/team/deep/tools@sha256:${"a".repeat(64)}`,
        `registry.example/team/deep/tools:1@sha256:${"a".repeat(64)}`,
        "registry.example/team/deep/other",
        "registry.example/teams/tools",
        "registry.example:5000/team/tools",
        "registry.example:5001/team/tools:1",
        "sub.registry.example/team/tools:1"
      ].map(who),
      ["tools", "tools", "tools", "team", "whole", "port", null, null]
    )
  })

  it("take Docker's keys with a scheme for their host, and the names of Docker Hub for one", () => {
    for (const key of ["https://index.docker.io/v1/", "docker.io", "registry-1.docker.io", "index.docker.io"]) {
      const auths = parsed({ [key]: entry("hub"), "https://Registry.Example/v2/": entry("other") })
      for (const reference of ["docker.io/alpine:3", "docker.io/library/alpine", "index.docker.io/team/tools:1"]) {
        assert.strictEqual(loginFor(auths, reference)?.username, "hub", `${key} ${reference}`)
      }
      assert.strictEqual(loginFor(auths, "registry.example/team/tools:1")?.username, "other")
    }
    const auths = parsed({ "docker.io/library": entry("library"), "docker.io/library/alpine": entry("alpine") })
    assert.strictEqual(loginFor(auths, "docker.io/alpine:3")?.username, "alpine")
    assert.strictEqual(loginFor(auths, "docker.io/debian:12")?.username, "library")
    assert.isNull(loginFor(auths, "docker.io/team/tools:1"))
  })

  it("may be none, and other members of the file and of an entry do not count", () => {
    assert.strictEqual(parsed({}).size, 0)
    const text = JSON.stringify({
      auths: { "registry.example": { ...entry("robot"), email: "robot@registry.example" } },
      credHelpers: {},
      currentContext: "default"
    })
    assert.strictEqual(loginFor(registryAuthsIn(text), "registry.example/tools:1")?.username, "robot")
  })

  it("of an unusable file give a sentence with the entry, and never with a password", () => {
    const one = (value: unknown) => refusalOf(JSON.stringify({ auths: { "registry.example": value } }))
    const entryRefusal = (sentence: string) => `has an unusable entry: registry.example ${sentence}`
    assert.strictEqual(refusalOf(`{"auths": {"a.example": {"auth": "${auth(`u:${password}`)}"`), "is not JSON.")
    for (const text of ["[]", "null", "{}", '{"auths": []}', '{"auths": "registry.example"}']) {
      assert.strictEqual(refusalOf(text), "has no object auths.")
    }
    assert.strictEqual(one("text"), entryRefusal("is no object with an auth."))
    for (const value of [{}, { auth: "" }, { auth: 5 }, { username: "robot", password }]) {
      assert.include(one(value), entryRefusal("has no auth: a login in a credential helper is not in the file."))
    }
    assert.include(one({ ...entry("robot"), identitytoken: "token" }), "has an identitytoken")
    for (const value of ["robot:secret", "YQ", "Y===", `${auth("a:b")}\n`]) {
      assert.strictEqual(one({ auth: value }), entryRefusal("has an auth that is not base64."))
    }
    for (const value of ["robot", "robot:", ":secret"]) {
      assert.strictEqual(
        one({ auth: auth(value) }),
        entryRefusal("has an auth that is not the base64 of user:password.")
      )
    }
    assert.include(one({ auth: auth("robot:secret\n") }), "has a control character, such as a line break")
    assert.include(one({ auth: Buffer.from([0x61, 0x3a, 0xff]).toString("base64") }), "not UTF-8")
    const helped = JSON.stringify({ auths: {}, credHelpers: { "registry.example": "secretservice" } })
    assert.include(refusalOf(helped), "has credHelpers, which Atoll does not run")
    for (const key of [
      "",
      "registry.example/",
      "/team",
      "robot:secret@registry.example",
      "a.example/team:1",
      "*.example"
    ]) {
      const sentence = refusalOf(JSON.stringify({ auths: { "a.example": entry("a"), [key]: entry("b") } }))
      assert.include(sentence, "has as key 2 of auths no registry or namespace")
      assert.notInclude(sentence, "secret")
    }
    const twice = { "registry.example": entry("a"), "https://registry.example/v1/": entry("b") }
    assert.strictEqual(refusalOf(JSON.stringify({ auths: twice })), "names registry.example twice.")
  })
})
