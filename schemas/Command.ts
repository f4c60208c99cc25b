/** The fields of a command, the same for a synchronous execution and for an operation. */
import { Schema } from "effect"
import { argvMaxItems, envMaxPairs } from "./Limits.ts"
import { oneOf } from "./OneOf.ts"
import { orNull, withDefault } from "./Optional.ts"
import { isMatching, isPlainText, isWellFormedText } from "./Text.ts"
import { WorkspacePath } from "./WorkspacePath.ts"

/** One word of a command, or a variable's value. */
export const CommandText = Schema.String.check(isPlainText)

export const Argv = Schema.Array(CommandText)
  .check(
    Schema.isBetweenLength(1, argvMaxItems, { toJsonSchema: () => ({ minItems: 1, maxItems: argvMaxItems }) }),
    Schema.makeFilter<ReadonlyArray<string>>((argv) => argv[0] !== "" || { path: [0], issue: "Expected a program" }, {
      expected: "a program first",
      toJsonSchema: () => ({})
    })
  )
  .annotate({ description: "The program and its arguments; no shell is involved. Entries contain no NUL." })

export const envNamePattern = /^[^=]+$/

export const Env = Schema.Record(Schema.String, CommandText)
  .check(
    Schema.isPropertyNames(
      Schema.String.check(isPlainText, isMatching(envNamePattern, { expected: "a name without = and NUL" }))
    ),
    Schema.isMaxProperties(envMaxPairs)
  )
  .annotate({ description: "Added to the Sandbox's own environment." })

export const Encoding = oneOf(
  "Encoding",
  ["utf8", "base64"],
  "How bytes are written as text. utf8: what is no UTF-8 shows as U+FFFD. base64: exactly."
)

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Fields of a command; `stdin` is text in `encoding`. */
export const commandFields = {
  argv: Argv,
  cwd: withDefault(WorkspacePath, "/workspace", "Where it runs; a directory that exists."),
  env: withDefault(Env, {}, "Added to the Sandbox's own environment."),
  stdin: orNull(
    Schema.String.check(isWellFormedText),
    "All of its input, in `encoding`, after which the input ends. Absent or null: it is empty."
  ),
  encoding: withDefault(Encoding, "utf8" as const, "Of stdin, and of stdout and stderr where they are answered.")
}

/** With `encoding` base64, stdin must be base64 (RFC 4648, padded). */
export const isStdinEncoded = Schema.makeFilter<{
  readonly stdin: string | null
  readonly encoding: "utf8" | "base64"
}>(
  ({ stdin, encoding }) =>
    encoding === "utf8" || stdin === null || base64Pattern.test(stdin) || { path: ["stdin"], issue: "Expected base64" },
  { expected: "stdin in its encoding", toJsonSchema: () => ({}) }
)

/** The cause of a command's end. */
export const Signal = Schema.NullOr(Schema.String).annotate({
  description:
    "The signal that ended it, by POSIX's name: `SIGTERM`. Real-time signals count from the first: `SIGRTMIN`, `SIGRTMIN+3`. Null when it ended by itself."
})
