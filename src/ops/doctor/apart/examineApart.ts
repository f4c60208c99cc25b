/**
 * The checks of `atoll doctor`, for the operator's page. They run in a process of their own, by the same command: some of them wait for programs
 * and measure the host, which would delay the service's requests.
 */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { Effect, Redacted, Schema } from "effect"
import { type Examined, Finding } from "../../../../schemas/console/Doctor.ts"
import type { SettingsShape } from "../../../Config.ts"
import { verdictOf, works } from "../verdict.ts"

/** `message` is one sentence for the operator. */
export class NotExamined extends Schema.TaggedError<NotExamined>()("NotExamined", { message: Schema.String }) {}

const withinMs = 60_000
const outputBytesMax = 1024 ** 2
const program = join(import.meta.dirname, "../../../cli/main.ts")

const Report = Schema.fromJsonString(Schema.Struct({ findings: Schema.Array(Finding) }))
const decodeReport = Schema.decodeUnknownSync(Report)

/** Exit code 1 says that something is missing, and the report says what. */
const reportOf = (fault: { readonly stdout?: string; readonly stderr?: string; readonly message: string }): string => {
  if (fault.stdout !== undefined && fault.stdout !== "") return fault.stdout
  throw new Error(
    (fault.stderr || fault.message)
      .trim()
      .split("\n")
      .at(-1)!
      .replace(/^atoll: /, "")
  )
}

export const examineApart = ({ dataDir, databaseUrl }: SettingsShape): Effect.Effect<Examined, NotExamined> =>
  Effect.tryPromise({
    try: async (signal) => {
      const { stdout } = await promisify(execFile)(process.execPath, [program, "--json", "doctor"], {
        signal,
        timeout: withinMs,
        maxBuffer: outputBytesMax,
        env: {
          ...process.env,
          ATOLL_DATA_DIR: dataDir,
          ...(databaseUrl === null ? {} : { DATABASE_URL: Redacted.value(databaseUrl) })
        }
      }).catch((fault) => ({ stdout: reportOf(fault) }))
      const { findings } = decodeReport(stdout)
      return { works: works(findings), verdict: verdictOf(findings), findings }
    },
    catch: (cause) => new NotExamined({ message: `The checks did not run: ${(cause as Error).message}` })
  })
