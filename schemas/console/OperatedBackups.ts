/** Backups in the operator's page: those of the backup folder, the last run, and the start of another. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Operating } from "../Access.ts"
import { Timestamp } from "../Text.ts"
import { acted, described } from "./Acted.ts"

/** Of the folder, the newest ones. */
export const backupsShown = 100

export const BackupFile = Schema.Struct({
  name: Schema.String,
  bytes: Schema.Int,
  writtenAt: Timestamp,
  verifiedAt: Schema.NullOr(Timestamp).annotate({
    description: "When it was read again and its checksum was right; null: not since it was written."
  })
}).annotate({ identifier: "BackupFile" })
export interface BackupFile extends Schema.Schema.Type<typeof BackupFile> {}

export const BackupRun = Schema.Struct({
  name: Schema.String.annotate({ description: "Of its file." }),
  state: Schema.Literals(["writing", "done", "failed"]),
  startedAt: Timestamp,
  endedAt: Schema.NullOr(Timestamp),
  progress: Schema.NullOr(Schema.Struct({ what: Schema.String, doneBytes: Schema.Int, allBytes: Schema.Int })).annotate(
    { description: "Of the present part; null before the first." }
  ),
  said: Schema.NullOr(Schema.String).annotate({ description: "The result, or why it failed; null while it runs." })
}).annotate({ identifier: "BackupRun" })
export interface BackupRun extends Schema.Schema.Type<typeof BackupRun> {}

export const BackupPage = Schema.Struct({
  folder: Schema.String,
  freeBytes: Schema.NullOr(Schema.Int).annotate({ description: "Of its disk; null before the first backup." }),
  backups: Schema.Array(BackupFile).annotate({ description: `Newest first, ${backupsShown} at most.` }),
  count: Schema.Int.annotate({ description: "How many the folder has." }),
  lastRun: Schema.NullOr(BackupRun).annotate({ description: "null: this page has started none." })
}).annotate({ identifier: "BackupPage" })
export interface BackupPage extends Schema.Schema.Type<typeof BackupPage> {}

export class OperatedBackupsGroup extends HttpApiGroup.make("operatedBackups")
  .add(
    HttpApiEndpoint.get("listBackups", "/backups", { success: BackupPage }).annotateMerge(
      described("listBackups", "Backups in the backup folder, and the last run")
    ),
    HttpApiEndpoint.post("startBackup", "/backups", acted).annotateMerge(described("startBackup", "atoll backup"))
  )
  .middleware(Operating) {}
