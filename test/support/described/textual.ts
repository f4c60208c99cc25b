/** The value of a parameter's or a header's text. */
import type { Json, Schemas } from "./Schemas.ts"

/** Text that is no value of the type stays text, and then fails the check. */
export const meantBy = (schemas: Schemas, schema: Json, text: string): unknown => {
  const { type, items } = schemas.meant(schema)
  switch (type) {
    case "integer":
    case "number":
      return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text
    case "boolean":
      return text === "true" ? true : text === "false" ? false : text
    case "array":
      return text.split(",").map((one) => meantBy(schemas, items as Json, one))
    default:
      return text
  }
}

/** The value of a parameter that is repeated for a list. */
export const eachMeantBy = (schemas: Schemas, schema: Json, texts: ReadonlyArray<string>): unknown =>
  texts.map((text) => meantBy(schemas, schemas.meant(schema)["items"] as Json, text))
