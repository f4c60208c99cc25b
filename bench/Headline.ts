/**
 * How a benchmark states a headline figure. `npm run bench` starts each benchmark as a child process; the variable
 * BENCH_HEADLINES names a file, and `headline` appends one line of JSON to it for each figure. `bench/main.ts` reads the
 * file when the benchmark has ended. A benchmark that was started without `npm run bench` prints the figure instead.
 */
import { appendFileSync } from "node:fs"
import { Schema } from "effect"

const Values = Schema.Array(Schema.Finite).check(Schema.isMinLength(1))

export const Headline = Schema.Struct({
  /** What is measured, unique among all benchmarks. */
  name: Schema.NonEmptyString,
  /** Empty for a ratio. */
  unit: Schema.String,
  better: Schema.Literals(["lower", "higher"]),
  /** One of each round, so that a spread exists; the figure is their median. */
  values: Values,
  /** What it is held against, measured in turns with it: one value for each of `values`. */
  other: Schema.optionalKey(Schema.Struct({ name: Schema.NonEmptyString, values: Values })),
  /** The limit of the value, of value / other side, or of both. */
  aim: Schema.optionalKey(
    Schema.Struct({ value: Schema.optionalKey(Schema.Finite), ratio: Schema.optionalKey(Schema.Finite) })
  )
}).check(
  Schema.makeFilter(({ values, other }) =>
    other === undefined || other.values.length === values.length
      ? undefined
      : `${values.length} values stand beside ${other.values.length} of the other side`
  )
)
export type Headline = typeof Headline.Type

const decode = Schema.decodeUnknownSync(Headline)

/** The variable that names the file. */
export const headlinesVariable = "BENCH_HEADLINES"

/** States a figure. Throws if a value is missing or not finite. */
export const headline = (figure: Headline): void => {
  const line = JSON.stringify(decode(figure))
  const file = process.env[headlinesVariable]
  if (file === undefined) console.log(`headline ${line}`)
  else appendFileSync(file, `${line}\n`)
}

/** A figure whose rounds are the rows of the table that a benchmark prints, by the names of its columns. */
export interface ColumnHeadline<Column extends string> extends Pick<Headline, "name" | "unit" | "better" | "aim"> {
  readonly column: Column
  readonly other?: { readonly name: string; readonly column: Column }
}

/** States the figures of a table. */
export const headlines = <Column extends string>(
  rows: ReadonlyArray<Readonly<Record<Column, number>>>,
  figures: ReadonlyArray<ColumnHeadline<Column>>
): void => {
  const valuesOf = (column: Column) => rows.map((row) => row[column])
  for (const { column, other, ...figure } of figures)
    headline({
      ...figure,
      values: valuesOf(column),
      ...(other && { other: { name: other.name, values: valuesOf(other.column) } })
    })
}

/** The figures in such a file. Throws if two have one name. */
export const headlinesIn = (text: string): ReadonlyArray<Headline> => {
  const figures = text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => decode(JSON.parse(line)))
  const twice = figures.find(({ name }, at) => figures.findIndex((it) => it.name === name) < at)
  if (twice !== undefined) throw new Error(`Two figures are named "${twice.name}"`)
  return figures
}
