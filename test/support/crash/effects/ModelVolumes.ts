/** The files of the simulated machines' volumes, in memory: they outlive the machines, as those of real volumes do. */
import { createHash } from "node:crypto"
import { Readable } from "node:stream"
import { Effect } from "effect"
import { ByteSource } from "../../../../src/platform/tar/ByteSource.ts"
import { tarEntries } from "../../../../src/platform/tar/tarEntries.ts"
import { paddingOf } from "../../../../src/platform/tar/tarHeader.ts"
import {
  FileRefused,
  type FileUpload,
  type Guest,
  type GuestFiles,
  type GuestUnavailable
} from "../../../../src/runtime/Guest.ts"
import { type Code, FileModel } from "../../files/FileModel.ts"

const root = "/workspace"

export class ModelVolumes {
  readonly #models = new Map<string, FileModel>()
  /** By the ids of their snapshots. */
  readonly #images = new Map<string, FileModel>()

  /** The generation after which each volume was replaced last. */
  readonly #restored = new Map<string, number>()

  of(sandboxId: string): FileModel {
    const model = this.#models.get(sandboxId) ?? new FileModel(root)
    this.#models.set(sandboxId, model)
    return model
  }

  forget(sandboxId: string): void {
    this.#models.delete(sandboxId)
  }

  /** An image that is there stays as it is. */
  capture(snapshotId: string, sandboxId: string): void {
    if (!this.#images.has(snapshotId)) this.#images.set(snapshotId, this.of(sandboxId).copy())
  }

  /** The volume of a Sandbox that had none. */
  make(sandboxId: string, snapshotId: string): void {
    const image = this.#images.get(snapshotId)
    if (!this.#models.has(sandboxId) && image !== undefined) this.#models.set(sandboxId, image.copy())
  }

  /** The volume of a Sandbox that had one: once after each generation. */
  restore(sandboxId: string, snapshotId: string, generation: number): void {
    const image = this.#images.get(snapshotId)
    if (image === undefined || (this.#restored.get(sandboxId) ?? 0) >= generation) return
    this.#restored.set(sandboxId, generation)
    this.#models.set(sandboxId, image.copy())
  }

  forgetImage(snapshotId: string): void {
    this.#images.delete(snapshotId)
  }

  imageOf(snapshotId: string): FileModel | undefined {
    return this.#images.get(snapshotId)
  }

  /** From another host. */
  receive(snapshotId: string, image: FileModel | undefined): void {
    if (image !== undefined && !this.#images.has(snapshotId)) this.#images.set(snapshotId, image.copy())
  }

  clear(): void {
    this.#models.clear()
    this.#images.clear()
  }

  /** `snapshotId path: content` */
  get imageFiles(): ReadonlyArray<readonly [snapshotId: string, file: string]> {
    return [...this.#images].flatMap(([id, model]) => model.tree().map((file) => [id, file] as const))
  }

  /** `sandboxId path: content` */
  get files(): ReadonlyArray<readonly [sandboxId: string, file: string]> {
    return [...this.#models].flatMap(([id, model]) => model.tree().map((file) => [id, file] as const))
  }
}

const refused = (code: Code, details: Readonly<Record<string, unknown>> | null = null) =>
  Effect.fail(new FileRefused({ code: code as FileRefused["code"], message: code, details }))

const done = (code: Code): Effect.Effect<void, FileRefused> => (code === "ok" ? Effect.void : refused(code))

const gathered = <E>({ bytes, broken }: FileUpload<E>): Effect.Effect<Buffer, E> =>
  Effect.tryPromise({
    try: async () => {
      const pieces: Array<Uint8Array> = []
      for await (const piece of bytes) pieces.push(piece)
      return Buffer.concat(pieces)
    },
    catch: broken
  })

const sha256Of = (text: string) => createHash("sha256").update(text).digest("hex")

const unpackInto = async (model: FileModel, path: string, archive: Buffer) => {
  const source = new ByteSource(Readable.from([archive]))
  const unpacked = { entries: 0, bytes: 0 }
  for await (const { kind, name, size } of tarEntries(source)) {
    const to = `${path}/${Buffer.from(name).toString().replace(/\/$/, "")}`
    if (kind === "directory") model.makeDirectory(to, true)
    else model.write(to, Buffer.from(await source.exactly(size)).toString())
    await source.exactly(paddingOf(size))
    unpacked.entries += 1
    unpacked.bytes += size
  }
  return unpacked
}

const unasked = Effect.die(new Error("No scenario asks a guest for this."))

/** Of a machine: its files are reached while it runs. */
export const modelFiles = ({ processes }: Guest, model: FileModel): GuestFiles => {
  const inside = <A, E, R>(effect: () => Effect.Effect<A, E, R>): Effect.Effect<A, E | GuestUnavailable, R> =>
    Effect.andThen(processes.list, Effect.suspend(effect))
  return {
    write: (path, body) =>
      Effect.flatMap(gathered(body), (bytes) => inside(() => done(model.write(path, bytes.toString())))),
    edit: (path, { expectedSha256, oldText, newText, replaceAll }) =>
      inside(() => {
        const before = model.read(path)
        if (model.stat(path) !== "file") return refused(before)
        if (sha256Of(before) !== expectedSha256)
          return refused("PRECONDITION_FAILED", { actualSha256: sha256Of(before) })
        const replacements = before.split(oldText).length - 1
        return Effect.map(done(model.edit(path, oldText, newText, replaceAll)), () => {
          const after = model.read(path)
          return { sizeBytes: Buffer.byteLength(after), sha256: sha256Of(after), replacements }
        })
      }),
    createDirectory: (path, { recursive }) => inside(() => done(model.makeDirectory(path, recursive))),
    rename: (path, destination, { overwrite }) => inside(() => done(model.rename(path, destination, overwrite))),
    remove: (path, { recursive }) => inside(() => done(model.remove(path, recursive))),
    unpack: (path, archive) =>
      Effect.flatMap(gathered(archive), (bytes) =>
        inside(() =>
          Effect.andThen(
            done(model.makeDirectory(path, true)),
            Effect.promise(() => unpackInto(model, path, bytes))
          )
        )
      ),
    stat: (path) =>
      inside(() => {
        const type = model.stat(path)
        if (type !== "file" && type !== "directory") return refused(type)
        const sizeBytes = type === "file" ? Buffer.byteLength(model.read(path)) : 0
        return Effect.succeed({ name: path.split("/").at(-1)!, type, sizeBytes, mode: "0644", modifiedAt: 0 })
      }),
    read: () => unasked,
    list: () => unasked,
    pack: () => unasked
  }
}
