/**
 * Lies in every part of an agent's messages, made from its protocol: for each field of each answer the values that are
 * just out of its bounds, of another type, missing, or built to hurt a reader that believes them.
 * @source src/agent/wire.ts
 */
import { FrameType, frameHead, jsonFrame } from "../../../../src/agent/processes/processFrames.ts"
import { exitedShape, OUTPUT_END_MAX, refusalShape, type Shape, settledShape } from "../../../../src/agent/wire.ts"
import { exited, exitedFrame, settledFrame as settled } from "./endFrames.ts"
import { bytes, type Piece, type Script } from "./script.ts"

/**
 * The service's reaction: a breach ends the session, `unavailable` is a guest that went away, `harmless` a lie that is
 * in bounds or that the service does not believe (the call then ends in any way, but by itself).
 */
export interface Lie {
  readonly name: string
  readonly script: Script
  readonly expect: "protocol" | "unavailable" | "harmless"
}

const HOSTILE_TEXTS = ["", "\0", "a\0b", "\ud800", "\n[ERROR] forged", "<script>", "x".repeat(4096), "__proto__"]
const HOSTILE_NUMBERS = [-1, 0.5, 2 ** 31, 2 ** 53 - 1, 2 ** 53, 1e308, -(2 ** 53)]
const WRONG_TYPES: ReadonlyArray<unknown> = [null, true, 7, "7", [], {}, [[]]]

/** A value that keeps to the shape. */
export const sampleOf = (shape: Shape): unknown => {
  switch (shape.is) {
    case "integer":
      return Math.max(shape.min, Math.min(shape.max, 1))
    case "decimal":
      return "1"
    case "text":
      return ["a", "SIGTERM", "0644", "CWD_NOT_FOUND", "a".repeat(64)].find(
        (it) => shape.like.test(it) && it.length <= shape.max
      )!
    case "prose":
      return "a sentence"
    case "flag":
      return true
    case "oneOf":
      return shape.values[0]
    case "nullable":
    case "optional":
      return sampleOf(shape.of)
    case "list":
      return [sampleOf(shape.of)]
    case "record":
      return Object.fromEntries(Object.entries(shape.fields).map(([key, field]) => [key, sampleOf(field)]))
  }
}

const fits = (shape: Shape, value: unknown): boolean => {
  switch (shape.is) {
    case "integer":
      return Number.isSafeInteger(value) && (value as number) >= shape.min && (value as number) <= shape.max
    case "decimal":
      return typeof value === "string" && /^\d{1,16}$/.test(value) && Number(value) <= shape.max
    case "text":
      return (
        typeof value === "string" &&
        value.length <= shape.max &&
        value.isWellFormed() &&
        !value.includes("\0") &&
        shape.like.test(value)
      )
    case "prose":
      return typeof value === "string"
    case "flag":
      return typeof value === "boolean"
    case "oneOf":
      return shape.values.includes(value as string)
    case "nullable":
      return value === null || fits(shape.of, value)
    case "optional":
      return value === undefined || fits(shape.of, value)
    case "list":
      return Array.isArray(value) && value.length <= shape.max && value.every((it) => fits(shape.of, it))
    case "record":
      return (
        typeof value === "object" &&
        value !== null &&
        !Array.isArray(value) &&
        Object.entries(shape.fields).every(([key, field]) => fits(field, (value as Record<string, unknown>)[key]))
      )
  }
}

/** Every value that breaks the shape in exactly one place, with the name of the place. */
export const breachesOf = (shape: Shape, at = ""): ReadonlyArray<readonly [name: string, value: unknown]> => {
  const here = [...WRONG_TYPES, ...HOSTILE_NUMBERS, ...HOSTILE_TEXTS]
    .filter((value) => !fits(shape, value))
    .map((value) => [`${at} ${JSON.stringify(value)?.slice(0, 24)}`, value] as const)
  switch (shape.is) {
    case "integer":
      return [...here, [`${at} above`, shape.max + 1], [`${at} below`, shape.min - 1], [`${at} missing`, undefined]]
    case "text":
      return [
        ...here,
        [`${at} too long`, String(sampleOf(shape)).padEnd(shape.max + 1, "a")],
        [`${at} missing`, undefined]
      ]
    case "prose":
      return [...here, [`${at} of a megabyte`, "x".repeat(2 ** 20)]]
    case "nullable":
    case "optional":
      return breachesOf(shape.of, at).filter(([, value]) => !fits(shape, value))
    case "list":
      return [
        ...here,
        [`${at} too many`, new Array(shape.max + 1).fill(sampleOf(shape.of))],
        [`${at} a million`, new Array(1_000_000).fill(0)],
        ...breachesOf(shape.of, `${at}[]`).map(([name, value]) => [name, [value]] as const)
      ]
    case "record": {
      const sample = sampleOf(shape) as Record<string, unknown>
      return [
        ...here,
        ...Object.entries(shape.fields).flatMap(([key, field]) =>
          breachesOf(field, `${at}.${key}`).map(([name, value]) => [name, { ...sample, [key]: value }] as const)
        )
      ]
    }
    default:
      return here
  }
}

const http = (name: string, expect: Lie["expect"], script: Omit<Script, "as">): Lie => ({
  name,
  expect,
  script: { as: "http", status: 200, ...script }
})

const json = (value: unknown) => [bytes(JSON.stringify(value) ?? "")]

/** Of an answer in JSON. */
export const jsonLies = (shape: Shape): ReadonlyArray<Lie> => [
  ...breachesOf(shape, "answer").map(([name, value]) => http(name, "protocol", { body: json(value) })),
  http("no JSON", "protocol", { body: [bytes("{")] }),
  http("no body", "protocol", { body: [] }),
  http("deep", "protocol", { body: [bytes("[", 8_000)] }),
  http("endless", "protocol", { body: [bytes("[", "forever")] }),
  http("endless blanks", "protocol", { body: [bytes(" ", "forever")] }),
  http("never ending", "unavailable", { body: [bytes("{")], afterwards: "hang" }),
  http("broken off", "unavailable", { body: [bytes("{")], afterwards: "reset" }),
  http("the connection cut", "unavailable", { body: [bytes("{")], afterwards: "destroy" })
]

/** Of any route: refusals, statuses, heads, connections. */
export const lies = (refusals: ReadonlyArray<string>): ReadonlyArray<Lie> => [
  ...breachesOf(refusalShape, "refusal").map(([name, value]) =>
    http(name, "protocol", { status: 409, body: json(value) })
  ),
  http("a refusal with an unknown code", "protocol", {
    status: 409,
    body: json({ code: "NO_SUCH_CODE", message: "m" })
  }),
  http("a refusal with another route's code", refusals.includes("PORT_CLOSED") ? "harmless" : "protocol", {
    status: 409,
    body: json({ code: "PORT_CLOSED", message: "m" })
  }),
  http("a refusal with control characters", "harmless", {
    status: 409,
    body: json({ code: refusals[0] ?? "INVALID_REQUEST", message: "\0\n\u001b[31m\ud800 forged" })
  }),
  http("a failure that goes on for ever", "unavailable", { status: 500, body: [bytes("x", "forever")] }),
  ...[204, 301].map((status) => http(`status ${status}`, "protocol", { status, body: [] })),
  {
    name: "heads that are none, without end",
    expect: "unavailable",
    script: { as: "http", earlyHeads: 20_000, afterwards: "hang" }
  },
  http("a head of 64 KiB", "unavailable", { headers: { x: "x".repeat(65_536) } }),
  { name: "no head", expect: "unavailable", script: { as: "http", afterwards: "hang" } },
  { name: "reset immediately", expect: "unavailable", script: { as: "http", afterwards: "reset" } },
  { name: "cut immediately", expect: "unavailable", script: { as: "http", afterwards: "destroy" } },
  { name: "going away", expect: "unavailable", script: { as: "http", afterwards: "goaway" } },
  { name: "garbage", expect: "unavailable", script: { as: "garbage" } },
  { name: "silence", expect: "unavailable", script: { as: "silence" } },
  { name: "a connection and no more", expect: "unavailable", script: { as: "nothing after the connection" } },
  { name: "pings without end", expect: "unavailable", script: { as: "pings" } },
  { name: "settings without end", expect: "unavailable", script: { as: "settings" } }
]

const piece = (offset: number, text: string, type: 1 | 2 = 1) =>
  Buffer.concat([frameHead(type, offset, Buffer.byteLength(text)), Buffer.from(text)])

const end = (stdoutBytes: number) => exitedFrame({ stdoutBytes })
const raw = (type: number, length: number, offset: number) => {
  const head = frameHead(FrameType.stdout, offset, length)
  head.writeUInt8(type, 0)
  return head
}

/** Of the frames of a process. `headBytes`: the requested length of a stream. */
export const frameLies = (headBytes: number | null): ReadonlyArray<Lie> => {
  const frames = (name: string, expect: Lie["expect"], ...parts: ReadonlyArray<Uint8Array | Piece>): Lie =>
    http(name, expect, { body: parts.map((it) => (it instanceof Uint8Array ? bytes(it) : it)) })
  const broken = (name: string, ...parts: ReadonlyArray<Uint8Array | Piece>) => frames(name, "protocol", ...parts)
  const offsets = [-1, -0.5, 0.5, Number.NaN, Infinity, -Infinity, 2 ** 53 - 1, 2 ** 53, OUTPUT_END_MAX, 1e308]
  return [
    ...breachesOf(exitedShape, "exited").map(([name, value]) =>
      broken(name, jsonFrame(FrameType.exited, value ?? null), settled)
    ),
    ...breachesOf(settledShape, "settled").map(([name, value]) =>
      broken(name, end(0), jsonFrame(FrameType.settled, value ?? null))
    ),
    broken("exited by both", exitedFrame({ signal: "SIGTERM" }), settled),
    broken("exited by neither", exitedFrame({ exitCode: null }), settled),
    broken(
      "exited twice in one object",
      (() => {
        const text = JSON.stringify(exited)
          .replace("{", '{"exitCode":1,')
          .replace('"exitCode":0', '"exitCode":9007199254740991')
        return Buffer.concat([frameHead(FrameType.exited, 0, text.length), Buffer.from(text)])
      })(),
      settled
    ),
    ...offsets.map((offset) =>
      broken(`offset ${offset}`, Buffer.concat([frameHead(FrameType.stdout, offset, 1), Buffer.from("x")]))
    ),
    ...[0, 5, 127, 255].map((type) => broken(`type ${type}`, raw(type, 1, 0), Buffer.from("x"))),
    broken("no payload", raw(1, 0, 0), settled),
    broken("no payload, without end", bytes(raw(1, 0, 0), "forever")),
    broken("exited without payload, without end", bytes(raw(3, 0, 0), "forever")),
    broken("a gigabyte announced", raw(1, 2 ** 30, 0)),
    broken("exited of 256 KiB", raw(3, 256 * 1024, 0), bytes("[", 256 * 1024)),
    broken("no JSON", raw(3, 1, 0), Buffer.from("{")),
    broken("an offset twice", piece(0, "hi"), piece(0, "hi"), end(4), settled),
    broken("bytes left out", piece(0, "hi"), piece(4, "hi"), end(6), settled),
    broken("out of order", piece(2, "hi"), piece(0, "hi"), end(4), settled),
    broken("output after exited", piece(0, "hi"), end(2), piece(2, "hi"), settled),
    broken("exited twice", end(0), end(0), settled),
    broken("settled first", settled, end(0)),
    broken("more after settled", end(0), settled, end(0)),
    broken("fewer bytes counted than sent", piece(0, "hi"), end(1), settled),
    frames("ends before settled", "unavailable", piece(0, "hi"), end(2)),
    frames("ends in a frame", "unavailable", raw(1, 10, 0), Buffer.from("half")),
    frames("nothing at all", "unavailable"),
    http("broken off", "unavailable", { body: [bytes(piece(0, "hi"))], afterwards: "reset" }),
    http("the connection cut", "unavailable", { body: [bytes(piece(0, "hi"))], afterwards: "destroy" }),
    ...(headBytes === null
      ? []
      : [
          broken("more than was asked for", bytes(raw(1, headBytes + 1, 0)), bytes("x", headBytes + 1)),
          broken(
            "frames of one byte, more than was asked for",
            ...oneByteFrames(headBytes + 1),
            end(headBytes + 1),
            settled
          )
        ])
  ]
}

/**
 * The most expensive of all valid answers: the whole requested length, in frames of one byte, alternating between the
 * streams.
 */
export const oneByteFrames = (count: number): ReadonlyArray<Piece> => {
  const all: Array<Buffer> = []
  for (let at = 0; at < count; at++) all.push(piece(at, "o"), piece(at, "e", 2))
  return [bytes(Buffer.concat(all))]
}

export const honestEnd = (stdoutBytes: number, stderrBytes: number): ReadonlyArray<Piece> => [
  bytes(exitedFrame({ stdoutBytes, stderrBytes })),
  bytes(settled)
]
