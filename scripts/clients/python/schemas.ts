/** `atoll/schemas.py`: the service's answers as frozen dataclasses, and the objects within requests. */
import type { Description, Field, Shape } from "../Description.ts"
import type { Class, Types } from "./types.ts"
import { nameWithin } from "./types.ts"
import { docstring, head, pascal, snake, text } from "./words.ts"

/** The objects within request bodies: a body's own fields are a method's parameters. */
export const inputsOf = (description: Description, types: Types): ReadonlyArray<Class> => {
  const inputs = new Map<string, Class>()
  const within = (shape: Shape, field: Field): void => {
    const { shape: target } = types.resolved(shape, "")
    if (target.type === "array") within(target.items, field)
    else if (target.type === "union") for (const member of target.members) within(member, field)
    else if (target.type === "object") {
      const name = shape.type === "reference" ? shape.name : pascal(field.name)
      const known = inputs.get(name)
      if (known !== undefined && text(known.fields) !== text(target.fields))
        throw new Error(`Two requests have a different ${name}: one of them needs another name.`)
      inputs.set(name, { name, fields: target.fields, description: known === undefined ? field.description : null })
    }
  }
  for (const { body } of description.operations) {
    if (body === null) continue
    const { shape } = types.resolved(body.shape, "")
    if (shape.type === "object") for (const field of shape.fields) within(field.shape, field)
  }
  return [...inputs.values()]
}

const fieldOf = (declared: string, description: string | null): string =>
  `    ${declared}\n${docstring(description, "    ")}`

const answerClass = (types: Types, { name, fields, description }: Class): string => {
  // A field without a default cannot follow one with a default.
  const ordered = [...fields.filter(({ isRequired }) => isRequired), ...fields.filter(({ isRequired }) => !isRequired)]
  const declared = ordered.map((field) => {
    const type = types.typeOf(field.shape, nameWithin(name, field.name))
    if (field.isRequired) return fieldOf(`${snake(field.name)}: ${type}`, field.description)
    const optional = types.mayBeNull(field.shape) ? type : `Optional[${type}]`
    return fieldOf(`${snake(field.name)}: ${optional} = None`, field.description)
  })
  const given = ordered.map(({ name: field, shape, isRequired }) => {
    const from = !isRequired || types.mayBeNull(shape) ? `data.get(${text(field)})` : `data[${text(field)}]`
    const decoded = types.decoded(shape, nameWithin(name, field), from)
    const mayBeAbsent = !isRequired && !types.mayBeNull(shape) && decoded !== from
    return `            ${snake(field)}=${mayBeAbsent ? `None if ${from} is None else ${decoded}` : decoded},\n`
  })
  return (
    `@dataclass(frozen=True)\nclass ${name}:\n${docstring(description, "    ")}${description ? "\n" : ""}${declared.join("")}\n` +
    `    @classmethod\n    def from_json(cls, data: Any) -> "${name}":\n        return cls(\n${given.join("")}        )\n`
  )
}

const inputClass = (types: Types, { name, fields, description }: Class): string => {
  const declared = fields.map((field) => {
    const type = types.typeOf(field.shape, nameWithin(name, field.name))
    return fieldOf(`${snake(field.name)}: ${field.isRequired ? type : `Given[${type}] = UNSET`}`, field.description)
  })
  const given = fields.map(({ name: field }) => `            ${text(field)}: self.${snake(field)},\n`)
  return (
    `@dataclass(frozen=True)\nclass ${name}:\n${docstring(description, "    ")}${description ? "\n" : ""}${declared.join("")}\n` +
    `    def to_json(self) -> Dict[str, Any]:\n        return given({\n${given.join("")}        })\n`
  )
}

/** The shapes of answers, events and the details of errors; the fields of requests are parameters. */
const answersOf = (description: Description, types: Types): ReadonlySet<string> =>
  types.reachable([
    ...description.operations.flatMap(({ answer }) => (answer.carries === "json" ? [answer.shape] : [])),
    ...description.operations.flatMap(({ pathParameters, query, headers }) =>
      [...pathParameters, ...query, ...headers].map(({ shape }) => shape)
    ),
    // Of bodies only the shapes that their fields name.
    ...description.operations.flatMap(({ body }) => {
      const shape = body === null ? null : types.resolved(body.shape, "").shape
      return shape?.type === "object" ? shape.fields.map((field) => field.shape) : []
    }),
    ...description.errors.flatMap(({ schema }) => {
      const { shape } = types.named(schema)
      return shape.type === "object" ? shape.fields.map((field) => field.shape) : []
    }),
    // The data of event streams, which the description does not split up.
    ...["Transition", "Operation", "LogEntry"].map((name) => ({ type: "reference", name }) as const)
  ])

export const detailsName = (schema: string): string => `${schema}Details`

/** The fields that a program needs beside the code of an error, if there are any. */
export const detailsOf = (
  description: Description,
  types: Types
): ReadonlyMap<string, { readonly shape: Shape; readonly classes: ReadonlyArray<Class> }> =>
  new Map(
    description.errors.flatMap(({ schema }) => {
      const { shape } = types.named(schema)
      const details = shape.type === "object" ? shape.fields.find(({ name }) => name === "details") : undefined
      if (details === undefined || details.shape.type === "null") return []
      const wrapper = { name: "", fields: [{ ...details, name: detailsName(schema) }], description: null }
      return [[schema, { shape: details.shape, classes: types.classesOf(wrapper).slice(0, -1) }] as const]
    })
  )

export const schemasModule = (description: Description, types: Types): string => {
  const names = answersOf(description, types)
  const inputs = inputsOf(description, types)
  const answers = description.schemas.filter(
    ({ name }) => names.has(name) && !inputs.some((input) => input.name === name)
  )
  const aliases = answers.filter(({ shape }) => shape.type !== "object")
  const classes = [
    ...answers.flatMap(({ name, shape, description: said }) =>
      shape.type === "object" ? types.classesOf({ name, fields: shape.fields, description: said }) : []
    ),
    ...[...detailsOf(description, types).values()].flatMap((details) => details.classes)
  ]
  const exported = [...aliases, ...classes, ...inputs].map(({ name }) => name).sort()
  return (
    head(description.version) +
    '"""What the service answers, as it names it. Later versions may have more: fields that are not here are ignored, and a\n' +
    'word that no Literal has is taken as it is. Times are RFC 3339 in UTC."""\n\n' +
    "from __future__ import annotations\n\nfrom dataclasses import dataclass\n" +
    "from typing import Any, Dict, List, Literal, Optional, Union\n\nfrom ._given import UNSET, Given, given\n\n" +
    `DESCRIPTION_VERSION = ${text(description.version)}\n"""Of the description that these were made from."""\n\n` +
    aliases
      .map(({ name, shape, description: said }) => `${name} = ${types.typeOf(shape, name)}\n${docstring(said, "")}`)
      .join("\n") +
    "\n\n" +
    [
      ...classes.map((one) => answerClass(types, one)),
      ...inputs.map((one) => inputClass(types, one)),
      `__all__ = [\n${exported.map((name) => `    ${text(name)},\n`).join("")}]\n`
    ].join("\n\n")
  )
}
