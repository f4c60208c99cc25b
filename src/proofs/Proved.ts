/**
 * What a run of proofs has shown: the rows of its table, and the products that it explored. A part of a run is a separate program; it appends its
 * lines to the file that PROVE_LINES names. A part that was started alone prints them only.
 */
import { appendFileSync, readFileSync } from "node:fs"
import { Schema } from "effect"

export const ProvedRow = Schema.Struct({
  type: Schema.Literal("row"),
  /** What was tried, in the words of docs/proofs.md. */
  what: Schema.NonEmptyString,
  /** How much: with its units. */
  amount: Schema.NonEmptyString,
  /** What repeats it; null: nothing in it is by chance. */
  seed: Schema.NullOr(Schema.String),
  violations: Schema.Int
})
export type ProvedRow = typeof ProvedRow.Type

const ProvedProduct = Schema.Struct({
  type: Schema.Literal("product"),
  name: Schema.NonEmptyString,
  sentence: Schema.NonEmptyString,
  /** Ids of the machines in it. */
  machines: Schema.Array(Schema.String),
  states: Schema.Int,
  edges: Schema.Int,
  /** Every path of so many steps. */
  depth: Schema.Int,
  /** There are no other states. */
  isAll: Schema.Boolean,
  /** The sentences of the invariants that hold in it. */
  invariants: Schema.Array(Schema.String)
})
type ProvedProduct = typeof ProvedProduct.Type

const Line = Schema.Union([ProvedRow, ProvedProduct])
type Line = typeof Line.Type

/** A saved run. The console shows it, so each sentence is in it once. */
export const Proved = Schema.Struct({
  format: Schema.Literal("atoll-proved/1"),
  /** The day, as 2026-11-26. */
  date: Schema.String,
  commit: Schema.String,
  rows: Schema.Array(ProvedRow),
  invariants: Schema.Array(Schema.NonEmptyString),
  /** Their invariants by place in the list of all. */
  products: Schema.Array(Schema.Struct({ ...ProvedProduct.fields, invariants: Schema.Array(Schema.Int) }))
})
export type Proved = typeof Proved.Type

/** What is saved of a run's lines. */
export const provedOf = (
  run: Pick<Proved, "date" | "commit">,
  rows: ReadonlyArray<ProvedRow>,
  products: ReadonlyArray<ProvedProduct>
): Proved => {
  const invariants = [...new Set(products.flatMap((product) => product.invariants))]
  return {
    format: "atoll-proved/1",
    ...run,
    rows,
    invariants,
    products: products.map((product) => ({
      ...product,
      invariants: product.invariants.map((sentence) => invariants.indexOf(sentence))
    }))
  }
}

export const linesVariable = "PROVE_LINES"

const decodeLine = Schema.decodeUnknownSync(Line)

/** States a line. */
export const state = (line: Line): void => {
  const file = process.env[linesVariable]
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(decodeLine(line))}\n`)
}

export const linesIn = (file: string): ReadonlyArray<Line> =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((text) => text !== "")
    .map((text) => decodeLine(JSON.parse(text)))

export const readProved = (file: string): Proved =>
  Schema.decodeUnknownSync(Proved)(JSON.parse(readFileSync(file, "utf8")))

/** The table of a run, as Markdown. */
export const provedTable = (rows: ReadonlyArray<ProvedRow>): string =>
  [
    "| what | how much | seed | violations |",
    "| --- | --- | --- | ---: |",
    ...rows.map(
      ({ what, amount, seed, violations }) => `| ${what} | ${amount} | ${seed ?? "none needed"} | ${violations} |`
    )
  ].join("\n")
