import { Schema } from "effect"
import { folderSentence } from "../../platform/dataFolder/folderSentence.ts"

/** The embedded Postgres cannot serve. `message` is one or two sentences for the operator: what is wrong, and what to do. */
export class PostgresUnusable extends Schema.TaggedError<PostgresUnusable>()("PostgresUnusable", {
  message: Schema.String
}) {}

/** Turns a file-system fault on `path` into a sentence that says what to do. */
export const folderFault = (path: string, cause: unknown): PostgresUnusable =>
  cause instanceof PostgresUnusable ? cause : new PostgresUnusable({ message: folderSentence(path, cause) })
