import { assert, describe, it } from "@effect/vitest"
import { simpleAnswerIn } from "../../../../src/access/preview/simpleAnswer.ts"

const read = (text: string, isHead = false) => simpleAnswerIn(Buffer.from(text, "latin1"), isHead)
const withHeaders = (...lines: ReadonlyArray<string>) => read(["HTTP/1.1 200 OK", ...lines, "", ""].join("\r\n"))

describe("the head of a plain answer", () => {
  it("is read with its spelling, its order and its repetitions", () => {
    const found = read("HTTP/1.1 207 Odd \xe4\r\nX-Twice: 1\r\nx-twice:2 \r\nEmpty:\r\nContent-Length: 5\r\n\r\nhello")
    assert.deepStrictEqual(found, {
      statusCode: 207,
      statusMessage: "Odd \xe4",
      rawHeaders: ["X-Twice", "1", "x-twice", "2", "Empty", "", "Content-Length", "5"],
      headers: { "content-length": "5" },
      length: "5",
      bodyBytes: 5,
      staysOpen: true,
      headBytes: 73
    })
  })

  it("of an answer that has no body by its nature keeps its length", () => {
    assert.deepInclude(read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true), { length: "5", bodyBytes: 0 })
    assert.deepInclude(read("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"), { length: "5", bodyBytes: 0 })
    assert.deepInclude(read("HTTP/1.1 204 No Content\r\n\r\n"), { length: null, bodyBytes: 0 })
  })

  it("tells whether the connection stays open", () => {
    assert.isTrue(withHeaders("Content-Length: 0", "Connection: Keep-Alive")!.staysOpen)
    assert.isFalse(withHeaders("Content-Length: 0", "Connection: Close")!.staysOpen)
  })

  const others: ReadonlyArray<readonly [string, string]> = [
    ["is not complete", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"],
    ["is a hint", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"],
    ["changes the protocol", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"],
    ["is of another version", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n"],
    ["has an odd status", "HTTP/1.1 99 OK\r\nContent-Length: 5\r\n\r\n"],
    ["has a status of four digits", "HTTP/1.1 2000 OK\r\nContent-Length: 5\r\n\r\n"],
    ["ends a line with LF", "HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\n"],
    ["has a CR in a value", "HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 5\r\n\r\n"],
    ["has an LF in a value", "HTTP/1.1 200 OK\r\nX: a\nContent-Length: 6\r\nContent-Length: 5\r\n\r\n"],
    ["has a NUL in a value", "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 5\r\n\r\n"],
    ["folds a line", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 5\r\n\r\n"],
    ["has a blank in a name", "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n"],
    ["has a line without a name", "HTTP/1.1 200 OK\r\n: 5\r\nContent-Length: 5\r\n\r\n"],
    ["has no length", "HTTP/1.1 200 OK\r\n\r\n"],
    ["has two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"],
    ["has two lengths in one", "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n"],
    ["has a signed length", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n"],
    ["has a length of 16 digits", "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000\r\n\r\n"],
    ["is chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"],
    ["is chunked and has a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\ntransfer-encoding: chunked\r\n\r\n"],
    ["names a hop's header", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive, X-Hop\r\n\r\n"],
    ["is larger than node:http allows", `HTTP/1.1 200 OK\r\nX: ${"x".repeat(20_000)}\r\nContent-Length: 5\r\n\r\n`]
  ]
  for (const [what, text] of others) it(`is left to node:http when it ${what}`, () => assert.isNull(read(text)))
})
