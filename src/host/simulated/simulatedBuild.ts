/**
 * Builds of the simulated runtime. A Sandbox that builds has files, without folders. Of a Dockerfile each line is a step that is printed and does nothing,
 * but `RUN exit N`, with which the build ends, and `RUN hang`, which never ends.
 */
import { createHash } from "node:crypto"
import { Readable } from "node:stream"
import { Effect } from "effect"
import { buildArguments, buildDockerfilePath, buildOutputPath } from "../../runtime/buildScript.ts"
import { FileRefused, type FileUpload, type GuestFiles, type ProcessSpec } from "../../runtime/Guest.ts"
import type { Inside } from "./Inside.ts"
import { program, type SimulatedMachine, type SimulatedProgram } from "./SimulatedWorld.ts"

const utf8 = new TextEncoder()

const notFound = (path: string) =>
  new FileRefused({ code: "NOT_FOUND", message: `${path} does not exist.`, details: null })

const received = <E>({ bytes, broken }: FileUpload<E>) =>
  Effect.tryPromise({
    try: async () => Buffer.concat((await bytes.toArray()) as Array<Uint8Array>),
    catch: broken
  })

const versionOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

/** In the place of the files that a simulated machine has not. */
export const builderFiles = ({
  machine,
  check
}: Inside): Pick<GuestFiles, "stat" | "read" | "write" | "remove" | "unpack"> => ({
  /** What was unpacked has a Dockerfile. */
  stat: Effect.fnUntraced(function* (path) {
    yield* check
    const bytes =
      machine.files.get(path) ?? (path.endsWith("/Dockerfile") ? machine.files.get("/workspace") : undefined)
    if (bytes === undefined) return yield* notFound(path)
    return { name: path, type: "file" as const, sizeBytes: bytes.length, mode: "0644", modifiedAt: 0 }
  }),
  read: Effect.fnUntraced(function* (path, { offset, maxBytes, version }) {
    yield* check
    const bytes = machine.files.get(path)
    if (bytes === undefined) return yield* notFound(path)
    if (version !== null && version !== versionOf(bytes)) {
      return yield* new FileRefused({ code: "CURSOR_STALE", message: `${path} has changed.`, details: null })
    }
    const part = bytes.subarray(offset, offset + maxBytes)
    const nextOffset = offset + part.length
    return {
      offset,
      nextOffset,
      sizeBytes: bytes.length,
      eof: nextOffset >= bytes.length,
      version: versionOf(bytes),
      body: Readable.from(part.length === 0 ? [] : [Buffer.from(part)], { objectMode: false })
    }
  }),
  write: Effect.fnUntraced(function* (path, body) {
    const bytes = yield* received(body)
    yield* check
    machine.files.set(path, bytes)
  }),
  remove: Effect.fnUntraced(function* (path) {
    yield* check
    if (!machine.files.delete(path)) return yield* notFound(path)
  }),
  /** The archive itself is kept, as a file of the folder's name. */
  unpack: Effect.fnUntraced(function* (path, archive) {
    const bytes = yield* received(archive)
    yield* check
    machine.files.set(path, bytes)
    return { entries: 1, bytes: bytes.length }
  })
})

/** The same Dockerfile, arguments and context give the same image. */
const built = ({ files }: SimulatedMachine, args: ReadonlyArray<string>): SimulatedProgram => {
  const text = Buffer.from(files.get(buildDockerfilePath) ?? []).toString()
  files.delete(buildDockerfilePath)
  const steps = text.split("\n").filter((line) => line.trim() !== "")
  const end = steps.findIndex((step) => /^RUN (exit \d+|hang)$/.test(step))
  const ran = end === -1 ? steps : steps.slice(0, end + 1)
  const output = ran.map((step, index) => ({
    stream: "stdout" as const,
    bytes: utf8.encode(`STEP ${index + 1}/${steps.length}: ${step}\n`)
  }))
  if (end !== -1) {
    const code = /\d+$/.exec(steps[end]!)
    return { output, exitCode: code === null ? null : Number(code[0]), afterMs: 0 }
  }
  files.set(buildOutputPath, Buffer.from(JSON.stringify([text, args, [...files]])))
  return { output, exitCode: 0, afterMs: 0 }
}

/** What a command of the machine does. */
export const programIn = (machine: SimulatedMachine, spec: ProcessSpec): SimulatedProgram => {
  const args = machine.spec.builder === true ? buildArguments(spec.argv) : null
  return args === null ? program(spec) : built(machine, args)
}
