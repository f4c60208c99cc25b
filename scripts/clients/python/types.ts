/** A shape as Python's type, and the expression that makes a value of that type from decoded JSON. */
import type { Description, Field, Named, Shape } from "../Description.ts"
import { pascal, text } from "./words.ts"

/** An object with the name of its class; an unnamed one is named by its place. */
export interface Class {
  readonly name: string
  readonly fields: ReadonlyArray<Field>
  readonly description: string | null
}

const isNull = ({ type }: Shape): boolean => type === "null"

/** Of items: `transitions` are each a `Transition`. */
const singular = (name: string): string => name.replace(/([^s])s$/, "$1")

export const nameWithin = (parent: string, field: string): string => parent + pascal(field)

export class Types {
  readonly #named: ReadonlyMap<string, Named>

  constructor({ schemas }: Description) {
    this.#named = new Map(schemas.map((schema) => [schema.name, schema]))
  }

  named(name: string): Named {
    return this.#named.get(name)!
  }

  /** The target of a reference, and the name it has there. */
  resolved(shape: Shape, name: string): { readonly shape: Shape; readonly name: string } {
    return shape.type === "reference" ? { shape: this.named(shape.name).shape, name: shape.name } : { shape, name }
  }

  /** `name`: for an unnamed object. */
  typeOf(shape: Shape, name: string): string {
    switch (shape.type) {
      case "reference":
        return shape.name
      case "string":
        return "str"
      case "boolean":
        return "bool"
      case "integer":
        return "int"
      case "number":
        return "float"
      case "null":
        return "None"
      case "bytes":
        return "bytes"
      case "unknown":
        return "Any"
      case "literals":
        return `Literal[${shape.values.map(text).join(", ")}]`
      case "array":
        return `List[${this.typeOf(shape.items, singular(name))}]`
      case "map":
        return `Dict[str, ${this.typeOf(shape.values, name)}]`
      case "object":
        return name
      case "union": {
        const members = shape.members.filter((member) => !isNull(member))
        const [only] = members
        if (members.length === 1) return `Optional[${this.typeOf(only!, name)}]`
        // A program cannot distinguish several objects by class: the value stays as decoded.
        if (members.some((member) => !this.#isPlain(member))) return "Any"
        const types = [...new Set(members.map((member) => this.typeOf(member, name)))]
        return `Union[${types.join(", ")}${members.length < shape.members.length ? ", None" : ""}]`
      }
    }
  }

  /** Whether decoded JSON is the value already. */
  #isPlain(shape: Shape): boolean {
    switch (shape.type) {
      case "reference":
        return this.#isPlain(this.named(shape.name).shape)
      case "array":
        return this.#isPlain(shape.items)
      case "map":
        return this.#isPlain(shape.values)
      case "object":
        return false
      case "union": {
        const members = shape.members.filter((member) => !isNull(member))
        return members.length > 1 || members.every((member) => this.#isPlain(member))
      }
      default:
        return true
    }
  }

  /** From the decoded JSON of the expression `from`. */
  decoded(shape: Shape, name: string, from: string): string {
    if (this.#isPlain(shape)) return from
    switch (shape.type) {
      case "reference": {
        const { shape: target } = this.resolved(shape, name)
        return target.type === "object" ? `${shape.name}.from_json(${from})` : this.decoded(target, shape.name, from)
      }
      case "object":
        return `${name}.from_json(${from})`
      case "array":
        return `[${this.decoded(shape.items, singular(name), "item")} for item in ${from}]`
      case "map":
        return `{key: ${this.decoded(shape.values, name, "item")} for key, item in ${from}.items()}`
      case "union": {
        const only = shape.members.find((member) => !isNull(member))!
        return `None if ${from} is None else ${this.decoded(only, name, from)}`
      }
      default:
        return from
    }
  }

  /** Absent and null mean the same. */
  mayBeNull(shape: Shape): boolean {
    if (shape.type === "reference") return this.mayBeNull(this.named(shape.name).shape)
    return shape.type === "unknown" || isNull(shape) || (shape.type === "union" && shape.members.some(isNull))
  }

  /** The object and the unnamed ones within it, innermost first. */
  classesOf({ name, fields, description }: Class): ReadonlyArray<Class> {
    const within = fields.flatMap((field) => this.#classesWithin(field.shape, nameWithin(name, field.name), field))
    return [...within, { name, fields, description }]
  }

  #classesWithin(shape: Shape, name: string, field: Field): ReadonlyArray<Class> {
    switch (shape.type) {
      case "object":
        return this.classesOf({ name, fields: shape.fields, description: field.description })
      case "array":
        return this.#classesWithin(shape.items, singular(name), field)
      case "map":
        return this.#classesWithin(shape.values, name, field)
      case "union": {
        const members = shape.members.filter((member) => !isNull(member))
        return members.length === 1 ? this.#classesWithin(members[0]!, name, field) : []
      }
      default:
        return []
    }
  }

  /** The shapes that a shape refers to, directly and indirectly, by name. */
  reachable(shapes: ReadonlyArray<Shape>, known: Set<string> = new Set()): Set<string> {
    for (const shape of shapes) {
      if (shape.type === "reference" && !known.has(shape.name)) {
        known.add(shape.name)
        this.reachable([this.named(shape.name).shape], known)
      } else if (shape.type === "array") this.reachable([shape.items], known)
      else if (shape.type === "map") this.reachable([shape.values], known)
      else if (shape.type === "object")
        this.reachable(
          shape.fields.map((field) => field.shape),
          known
        )
      else if (shape.type === "union") this.reachable(shape.members, known)
    }
    return known
  }
}
