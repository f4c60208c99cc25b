/**
 * The file of a snapshot:
 *
 *     "atoll snapshot 1\n"
 *     u32le      the length of the header
 *     header     JSON, `SnapshotHeader`
 *     the rest is compressed with zstd:
 *     content    the pieces of the image and their end (`imageFrames.ts`); the SHA-256 is of all before it, uncompressed
 *
 * The same snapshot gives the same bytes again, as long as its name and the version of zstd stay: `offset` of a download relies on it.
 */
import { Schema } from "effect"
import { SandboxMetadata, SandboxName } from "../../../schemas/Sandbox.ts"

export const magic = Buffer.from("atoll snapshot 1\n")
/** Metadata of the largest size takes a fraction of it. */
export const headerMaxBytes = 256 * 1024

const count = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 1, maximum }))

export const SnapshotHeader = Schema.Struct({
  /** Of the server that it came from. */
  snapshotId: Schema.String.check(Schema.isMaxLength(64)),
  createdAt: Schema.Int,
  sizeBytes: count(2 ** 50),
  /** The user id of the volume's files on the disk; null: that of each machine's guests. */
  owner: Schema.NullOr(count(2 ** 31 - 1)),
  runtime: Schema.Literals(["vm", "namespace"]),
  profile: Schema.Struct({
    vcpus: Schema.Finite.check(Schema.isBetween({ minimum: 0.1, maximum: 1024 })),
    memoryBytes: count(2 ** 50),
    diskBytes: count(2 ** 50)
  }),
  networkEnabled: Schema.Boolean,
  name: Schema.NullOr(SandboxName),
  sandboxName: Schema.NullOr(SandboxName),
  metadata: SandboxMetadata
})
export interface SnapshotHeader extends Schema.Schema.Type<typeof SnapshotHeader> {}

/** All that stands before the compressed part. */
export const headOf = (header: SnapshotHeader): Buffer => {
  const json = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(json.length)
  return Buffer.concat([magic, length, json])
}
