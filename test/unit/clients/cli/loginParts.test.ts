/** What `atoll login` is given, told apart: addresses and keys. */
import { assert, describe, it } from "vitest"
import { hintOf, loginPart } from "../../../../clients/typescript/src/cli/loginParts.ts"

const key = `atoll_live_${"a".repeat(43)}`

describe("a part of a login", () => {
  it("is an address", () => {
    for (const text of [
      "https://atoll.example.com",
      "http://127.0.0.1:8080/api/v2",
      "127.0.0.1:8080",
      "localhost",
      "localhost:8080",
      "[::1]:8080",
      "atoll.example.com/prefix"
    ])
      assert.deepStrictEqual(loginPart(` ${text}\n`), { kind: "address", text })
  })

  it("is a key", () => {
    for (const text of [key, "atoll_live_short", "something"])
      assert.deepStrictEqual(loginPart(`${text}\r`), { kind: "key", text })
  })

  it("stands in a file of variables", () => {
    const address = { kind: "address", text: "https://atoll.example.com" }
    assert.deepStrictEqual(loginPart("export ATOLL_URL='https://atoll.example.com'"), address)
    assert.deepStrictEqual(loginPart(`ATOLL_API_KEY="${key}"`), { kind: "key", text: key })
    assert.deepStrictEqual(loginPart(`KEY=${key}`), { kind: "key", text: key })
  })

  it("is nothing: an empty line, a comment", () => {
    for (const text of ["", "  ", "# a key"]) assert.isNull(loginPart(text))
  })

  it("is named by its end", () => {
    assert.strictEqual(hintOf(key), "…aaaa")
  })
})
