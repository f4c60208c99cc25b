/** The records in the backup folder: the last run, and when an archive was verified. */
import { join } from "node:path"
import { Option, Schema } from "effect"
import { readRecord, WrittenProcess, writeRecord } from "../../../host/linux/SandboxRecords.ts"

const Run = Schema.Struct({
  /** It writes the archive. */
  process: WrittenProcess,
  /** Of the archive's file. */
  name: Schema.String,
  /** Epoch milliseconds. */
  startedAt: Schema.Int,
  /** Null: it has not ended, or was killed. */
  endedAt: Schema.NullOr(Schema.Int),
  isDone: Schema.Boolean,
  progress: Schema.NullOr(Schema.Struct({ what: Schema.String, doneBytes: Schema.Int, allBytes: Schema.Int })),
  /** The result, or why there is none; null before the end. */
  said: Schema.NullOr(Schema.String)
})
export type Run = typeof Run.Type

const decodeRun = Schema.decodeUnknownOption(Run)
const runOf = (folder: string): string => join(folder, ".run.json")

/** Null: there was none. */
export const readRun = (folder: string): Run | null => Option.getOrNull(decodeRun(readRecord(runOf(folder))))

export const writeRun = (folder: string, run: Run): Promise<void> => writeRecord(runOf(folder), run, { durable: false })

/** An archive that was replaced since has another size or another time of its last change. */
const Verification = Schema.Struct({ bytes: Schema.Int, writtenAt: Schema.Int, verifiedAt: Schema.Int })
export type Verification = typeof Verification.Type

const decodeVerification = Schema.decodeUnknownOption(Verification)
const verificationOf = (folder: string, name: string): string => join(folder, `.${name}.verified`)

export const readVerification = (folder: string, name: string): Verification | null =>
  Option.getOrNull(decodeVerification(readRecord(verificationOf(folder, name))))

export const writeVerification = (folder: string, name: string, found: Verification): Promise<void> =>
  writeRecord(verificationOf(folder, name), found, { durable: false })
