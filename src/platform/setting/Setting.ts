/** One setting: its name in the environment, its row in the table, and its decoder. */
import { resolve } from "node:path"
import { Config, Option, Redacted, Schema } from "effect"

export interface Setting<A> {
  readonly env: string
  readonly description: string
  /** The text for the table. */
  readonly default: string
  /** The expected form, as in "ATOLL_PORT must be …". */
  readonly shape: string
  readonly config: Config.Config<A>
}

export const integer = (
  env: string,
  fallback: number,
  description: string,
  { minimum, maximum }: { readonly minimum: number; readonly maximum: number } = {
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER
  }
): Setting<number> => ({
  env,
  description,
  default: String(fallback),
  shape: `a whole number from ${minimum} to ${maximum}`,
  config: Config.schema(Schema.Int.check(Schema.isBetween({ minimum, maximum })), env).pipe(
    Config.withDefault(fallback)
  )
})

/** A number with at most one digit after the decimal point. */
export const tenths = (
  env: string,
  fallback: number,
  description: string,
  bounds: { readonly minimum: number; readonly maximum: number }
): Setting<number> => ({
  env,
  description,
  default: String(fallback),
  shape: `a number in steps of 0.1 from ${bounds.minimum} to ${bounds.maximum}`,
  config: Config.schema(
    Schema.Finite.check(
      Schema.isBetween(bounds),
      Schema.makeFilter<number>((value) => Math.round(value * 10) / 10 === value)
    ),
    env
  ).pipe(Config.withDefault(fallback))
})

export const text = (env: string, fallback: string, description: string): Setting<string> => ({
  env,
  description,
  default: fallback,
  shape: "a text that is not empty",
  config: Config.NonEmptyString(env).pipe(Config.withDefault(fallback))
})

/** A folder as an absolute path. */
export const folder = (env: string, fallback: string, choose: () => string, description: string): Setting<string> => ({
  env,
  description,
  default: fallback,
  shape: "the path of a folder",
  config: Config.NonEmptyString(env).pipe(
    Config.map((path) => resolve(path)),
    Config.orElse(() => Config.succeed(choose()))
  )
})

const optionalPath =
  (shape: string) =>
  (env: string, description: string): Setting<string | null> => ({
    env,
    description,
    default: "",
    shape,
    config: Config.String(env).pipe(
      Config.option,
      Config.map((found) => Option.getOrNull(Option.filter(found, (path) => path !== ""))),
      Config.map((path) => (path === null ? null : resolve(path)))
    )
  })

/** A file as an absolute path; null: none. */
export const file = optionalPath("the path of a file")

/** A folder as an absolute path; null: none. */
export const optionalFolder = optionalPath("the path of a folder")

export const oneOf = <const A extends ReadonlyArray<string>>(
  env: string,
  values: A,
  fallback: A[number],
  description: string
): Setting<A[number]> => ({
  env,
  description: `${description} One of ${values.join(", ")}.`,
  default: fallback,
  shape: `one of ${values.join(", ")}`,
  config: Config.Literals(values, env).pipe(Config.withDefault(fallback)) as Config.Config<A[number]>
})

export const secret = (env: string, description: string): Setting<Redacted.Redacted<string> | null> => ({
  env,
  description,
  default: "",
  shape: "a text",
  config: Config.Redacted(env).pipe(Config.option, Config.map(Option.getOrNull))
})

/** A URL that may contain a password. `example` shows its form. */
export const secretUrl = (
  env: string,
  protocols: ReadonlyArray<string>,
  example: string,
  description: string
): Setting<Redacted.Redacted<string> | null> => ({
  ...secret(env, description),
  shape: `a URL such as ${example}`,
  config: Config.schema(
    Schema.Redacted(
      Schema.String.check(
        Schema.makeFilter<string>((text) => text === "" || protocols.includes(URL.parse(text)?.protocol ?? ""))
      )
    ),
    env
  ).pipe(
    Config.option,
    Config.map((found) => Option.getOrNull(Option.filter(found, (url) => Redacted.value(url) !== "")))
  )
})
