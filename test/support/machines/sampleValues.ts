/** Values for the fields of a machine's events and input, from their types: every member of a union, both booleans, null where allowed, absent where optional. */
import type { TSType } from "oxc-parser"
import { fieldsOf, namedTypes } from "./MachineSource.ts"

/** Every event happens at this instant: times do not multiply the states. */
export const at = 1_700_000_000_000

/** One instant for each field, whole seconds apart: the result shows which of two instants a machine takes. */
const instants = new Map<string, number>()

const instantOf = (field: string): number => {
  const known = instants.get(field) ?? at + (instants.size + 1) * 1000
  instants.set(field, known)
  return known
}

/** Durations and instants from other parts need not be whole. */
const numbersOf = (field: string) =>
  field === "at"
    ? [at]
    : field.endsWith("At")
      ? // When something was used is measured, and need not be whole.
        [instantOf(field) + (field === "usedAt" ? 0.25 : 0)]
      : field.endsWith("Ms")
        ? [60_000, 1500.5]
        : field === "until"
          ? [at + 60_000, at + 0.5]
          : [1]

/** @param field The name gives the meaning of a number or a text. */
export const samplesOf = (type: TSType, field: string): ReadonlyArray<unknown> => {
  switch (type.type) {
    case "TSNumberKeyword":
      return numbersOf(field)
    case "TSStringKeyword":
      return [`${field}-1`]
    case "TSBooleanKeyword":
      return [false, true]
    case "TSNullKeyword":
      return [null]
    case "TSUndefinedKeyword":
      return [undefined]
    case "TSUnknownKeyword":
      return [{}]
    case "TSLiteralType":
      if (type.literal.type === "Literal") return [type.literal.value]
      break
    case "TSParenthesizedType":
      return samplesOf(type.typeAnnotation, field)
    case "TSUnionType":
      return type.types.flatMap((member) => samplesOf(member, field))
    case "TSTypeOperator":
      return samplesOf(type.typeAnnotation, field)
    case "TSArrayType":
      return [samplesOf(type.elementType, field)]
    case "TSTypeLiteral":
      return samplesTogether(fieldsOf(type.members))
    case "TSIndexedAccessType": {
      const { objectType, indexType } = type
      const index =
        indexType.type === "TSLiteralType" && indexType.literal.type === "Literal" ? indexType.literal.value : ""
      const indexed = namedFields(objectType).get(String(index))
      if (indexed !== undefined) return samplesOf(indexed, field)
      break
    }
    case "TSTypeReference": {
      const name = type.typeName.type === "Identifier" ? type.typeName.name : ""
      const [argument] = type.typeArguments?.params ?? []
      if (name === "Readonly" && argument !== undefined) return samplesOf(argument, field)
      if (name === "ReadonlyArray" && argument !== undefined) return [samplesOf(argument, field)]
      if (name === "Record") return [{}, { [`${field}-1`]: "1" }]
      if (name === "Partial" && argument !== undefined) return partialSamples(namedFields(argument))
      const named = namedTypes.get(name)
      if (named !== undefined) return named instanceof Map ? samplesTogether(named) : samplesOf(named as TSType, field)
    }
  }
  throw new Error(`No sample for ${field}: ${type.type}; teach test/support/machines/sampleValues.ts this type.`)
}

type Fields = ReadonlyMap<string, TSType>

/** Every combination of the fields' samples. */
export const combinations = (fields: Fields): ReadonlyArray<Record<string, unknown>> => {
  let found: ReadonlyArray<Record<string, unknown>> = [{}]
  for (const [field, type] of fields) {
    const samples = samplesOf(type, field)
    found = found.flatMap((one) => samples.map((sample) => (sample === undefined ? one : { ...one, [field]: sample })))
  }
  return found
}

/** The first sample of every field, the second of every field, and so on: every sample at least once. */
export const samplesTogether = (fields: Fields): ReadonlyArray<Record<string, unknown>> => {
  const samples = [...fields].map(([field, type]) => [field, samplesOf(type, field)] as const)
  const most = Math.max(1, ...samples.map(([, values]) => values.length))
  return Array.from({ length: most }, (_, at) =>
    Object.fromEntries(samples.map(([field, values]) => [field, values[Math.min(at, values.length - 1)]]))
  )
}

/** With all fields, and with the first one only. */
const partialSamples = (fields: Fields): ReadonlyArray<Record<string, unknown>> => {
  const [first] = [...fields].map(([field, type]) => [field, samplesOf(type, field)[0]] as const)
  return [...samplesTogether(fields), ...(first === undefined ? [] : [Object.fromEntries([first])])]
}

const namedFields = (type: TSType): Fields => {
  const name = type.type === "TSTypeReference" && type.typeName.type === "Identifier" ? type.typeName.name : ""
  const named = namedTypes.get(name)
  if (named instanceof Map) return named
  throw new Error(`${name} is no interface of a machine's file.`)
}
