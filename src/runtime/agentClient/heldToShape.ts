/**
 * Decoders for an agent's answers, made from the table of shapes. They are written by hand because every command passes through them: decoding the
 * end of one costs half a microsecond.
 *
 * A breach names the field and the bound, never the value, which is the guest's text.
 *
 * @source src/agent/wire.ts
 */
import type { Said, Shape } from "../../agent/wire.ts"

/** The agent's answer violates its protocol. */
export class ProtocolBreach extends Error {}

/** Throws a ProtocolBreach. The result has the table's fields and no others. */
export type Decoder<S extends Shape> = (value: unknown) => Said<S>

export const heldTo = <const S extends Shape>(shape: S, name = "the answer"): Decoder<S> =>
  decoderOf(shape, name) as Decoder<S>

const breach = (name: string, rule: string): never => {
  throw new ProtocolBreach(`${name} must be ${rule}`)
}

const isText = (value: unknown, max: number): value is string =>
  typeof value === "string" && value.length <= max && value.isWellFormed() && !value.includes("\0")

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g
/** The longest sentence. */
const PROSE_MAX_UNITS = 8 * 1024

/** Makes a guest's sentence safe for an answer or a log line. */
export const shownProse = (value: string, max: number): string =>
  value.slice(0, max).toWellFormed().replace(control, "\ufffd")

const decoderOf = (shape: Shape, name: string): ((value: unknown) => unknown) => {
  switch (shape.is) {
    case "integer": {
      const { min, max } = shape
      return (value) =>
        typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max
          ? // -0 is 0
            value + 0
          : breach(name, `a whole number from ${min} to ${max}`)
    }
    case "decimal": {
      const { max } = shape
      return (value) => {
        const number = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN
        return number <= max ? number : breach(name, `decimal digits of at most ${max}`)
      }
    }
    case "text": {
      const { max, like } = shape
      return (value) =>
        isText(value, max) && like.test(value) ? value : breach(name, `text of at most ${max} like ${like.source}`)
    }
    case "prose": {
      const { max } = shape
      return (value) =>
        typeof value === "string" && value.length <= PROSE_MAX_UNITS
          ? shownProse(value, max)
          : breach(name, `text of at most ${PROSE_MAX_UNITS}`)
    }
    case "flag":
      return (value) => (typeof value === "boolean" ? value : breach(name, "true or false"))
    case "oneOf": {
      const values: ReadonlySet<unknown> = new Set(shape.values)
      return (value) => (values.has(value) ? value : breach(name, `one of ${shape.values.join(", ")}`))
    }
    case "nullable": {
      const decode = decoderOf(shape.of, name)
      return (value) => (value === null ? null : decode(value))
    }
    case "optional": {
      const decode = decoderOf(shape.of, name)
      return (value) => (value === undefined ? undefined : decode(value))
    }
    case "list": {
      const { max } = shape
      const decode = decoderOf(shape.of, `an entry of ${name}`)
      return (value) => {
        if (!Array.isArray(value) || value.length > max) return breach(name, `a list of at most ${max}`)
        return value.map((entry) => decode(entry))
      }
    }
    case "record": {
      const fields = Object.entries(shape.fields).map(([key, field]) => [key, decoderOf(field, key)] as const)
      return (value) => {
        if (typeof value !== "object" || value === null || Array.isArray(value)) return breach(name, "an object")
        const decoded: Record<string, unknown> = {}
        for (const [key, decode] of fields) {
          const field = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
          const said = decode(field)
          if (said !== undefined) decoded[key] = said
        }
        return decoded
      }
    }
  }
}
