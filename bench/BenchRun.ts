/**
 * The results of a run of benchmarks, as `npm run bench -- --save FILE` writes them. Each benchmark has the date and the
 * commit of its own: a later run replaces the benchmarks that it ran, and leaves the others of the same machine.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { Option, Schema } from "effect"
import { Headline } from "./Headline.ts"

export const Machine = Schema.Struct({
  cpu: Schema.String,
  cores: Schema.Int,
  memoryGiB: Schema.Int,
  kernel: Schema.String,
  node: Schema.String,
  postgres: Schema.String,
  /** What runs Sandboxes here: the versions of bubblewrap and QEMU, and whether as root. */
  runtime: Schema.String
})
export type Machine = typeof Machine.Type

export const BenchResult = Schema.Struct({
  bench: Schema.String,
  /** ISO 8601. */
  at: Schema.String,
  /** Short; with a "+" if files differed from it. */
  commit: Schema.String,
  /** Null, or why it has no figures. */
  failure: Schema.NullOr(Schema.String),
  headlines: Schema.Array(Headline)
})
export type BenchResult = typeof BenchResult.Type

export const BenchRun = Schema.Struct({
  format: Schema.Literal("atoll-bench/1"),
  machine: Machine,
  benches: Schema.Array(BenchResult)
})
export type BenchRun = typeof BenchRun.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(BenchRun))

/** A file that is no saved run. The message is one sentence for the terminal. */
export class NoSavedRun extends Schema.TaggedError<NoSavedRun>()("NoSavedRun", { message: Schema.String }) {}

/** Throws `NoSavedRun`. */
export const readRun = (path: string): BenchRun => {
  let text: string
  try {
    text = readFileSync(path, "utf8")
  } catch (cause) {
    throw new NoSavedRun({ message: `${path} cannot be read: ${(cause as NodeJS.ErrnoException).code}.` })
  }
  const run = decode(text)
  if (Option.isNone(run))
    throw new NoSavedRun({ message: `${path} is not a run that "npm run bench -- --save FILE" wrote, or is damaged.` })
  return run.value
}

/** Figures of different hardware cannot be compared. Another kernel, Node or Postgres is part of what is measured. */
export const isSameMachine = (one: Machine, other: Machine): boolean =>
  one.cpu === other.cpu && one.cores === other.cores && one.memoryGiB === other.memoryGiB

/** A run with those benchmarks of an earlier one that it did not run. The machine is the later run's. */
export const merged = (earlier: BenchRun, later: BenchRun): BenchRun => ({
  ...later,
  benches: [
    ...earlier.benches.filter(({ bench }) => !later.benches.some((it) => it.bench === bench)),
    ...later.benches
  ].toSorted((a, b) => (a.bench < b.bench ? -1 : 1))
})

export const writeRun = (path: string, run: BenchRun): void => writeFileSync(path, `${JSON.stringify(run, null, 1)}\n`)
