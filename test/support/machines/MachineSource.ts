/**
 * The types of a machine's file: its events with their fields and doc comments, and its input.
 * Read from the source, so that a new machine file is covered as soon as it exists. The convention is that of
 * `machines/sandbox.ts`: `xMachine`, `interface XInput`, and `type XEvent = | {…}` there or in `xEvents.ts`.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import {
  type Comment,
  type Program,
  parseSync,
  type TSInterfaceDeclaration,
  type TSType,
  type TSTypeLiteral
} from "oxc-parser"
import type { AnyStateMachine } from "xstate"
import { type NamedType, schemaTypes } from "./schemaTypes.ts"

type Members = TSTypeLiteral["members"]

export interface EventSource {
  readonly type: string
  readonly fields: ReadonlyMap<string, TSType>
  /** Empty: it has none. */
  readonly doc: string
}

export interface MachineSource {
  /** File name without `.ts`. */
  readonly name: string
  readonly machine: AnyStateMachine
  readonly events: ReadonlyArray<EventSource>
  readonly input: ReadonlyMap<string, TSType>
}

const folder = join(import.meta.dirname, "../../../machines")

/** An optional field is a union with `undefined`. */
const fieldType = (type: TSType, isOptional: boolean): TSType => {
  if (!isOptional) return type
  const { start, end } = type
  return { type: "TSUnionType", types: [type, { type: "TSUndefinedKeyword", start, end }], start, end }
}

export const fieldsOf = (members: Members): ReadonlyMap<string, TSType> =>
  new Map(
    members.flatMap((member) =>
      member.type === "TSPropertySignature" && member.key.type === "Identifier" && member.typeAnnotation
        ? [[member.key.name, fieldType(member.typeAnnotation.typeAnnotation, member.optional)] as const]
        : []
    )
  )

const declarations = (program: Program) =>
  program.body.map((node) =>
    node.type === "ExportNamedDeclaration" && node.declaration !== null ? node.declaration : node
  )

/** Every interface and type of all machine files by name, and the contexts with their parts. */
export const namedTypes = new Map<string, NamedType>(schemaTypes)

/** `Pick<X, "a" | "b">`, as an input picks fields of a context. */
const picked = (type: { readonly params: ReadonlyArray<TSType> } | null | undefined): ReadonlyMap<string, TSType> => {
  const [from, names] = type?.params ?? []
  const named = from?.type === "TSTypeReference" && from.typeName.type === "Identifier" ? from.typeName.name : ""
  const fields = namedTypes.get(named)
  if (!(fields instanceof Map)) throw new Error(`An input picks from ${named}, which is no context.`)
  const wanted = names?.type === "TSUnionType" ? names.types : names === undefined ? [] : [names]
  return new Map(
    wanted.map((one) => {
      const name = one.type === "TSLiteralType" && one.literal.type === "Literal" ? String(one.literal.value) : ""
      return [name, fields.get(name)!] as const
    })
  )
}

/** The fields of an interface, including those that it picks from a context. */
const interfaceFields = (node: TSInterfaceDeclaration): ReadonlyMap<string, TSType> =>
  new Map([
    ...node.extends.flatMap(({ expression, typeArguments }) =>
      expression.type === "Identifier" && expression.name === "Pick" ? [...picked(typeArguments)] : []
    ),
    ...fieldsOf(node.body.body)
  ])

const docBefore = (comments: ReadonlyArray<Comment>, text: string, start: number) => {
  const comment = comments.findLast(({ end }) => end <= start && /^[\s|]*$/.test(text.slice(end, start)))
  return comment?.value.startsWith("*") ? comment.value.replace(/^\*|\s*\*\s/g, " ").trim() : ""
}

const eventOf = (type: TSType, text: string, comments: ReadonlyArray<Comment>): EventSource => {
  if (type.type !== "TSTypeLiteral") throw new Error(`An event is written as { type: "…", … }, not ${type.type}.`)
  const fields = new Map(fieldsOf(type.members))
  const name = fields.get("type")
  if (name?.type !== "TSLiteralType" || name.literal.type !== "Literal") throw new Error("An event has a literal type.")
  fields.delete("type")
  return { type: String(name.literal.value), fields, doc: docBefore(comments, text, type.start) }
}

const read = (file: string) => {
  const text = readFileSync(join(folder, file), "utf8")
  const { program, comments, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`)
  let events: ReadonlyArray<EventSource> = []
  let input: ReadonlyMap<string, TSType> = new Map()
  for (const node of declarations(program)) {
    if (node.type === "TSInterfaceDeclaration") {
      const fields = interfaceFields(node)
      namedTypes.set(node.id.name, fields)
      if (node.id.name.endsWith("Input")) input = fields
    } else if (node.type === "TSTypeAliasDeclaration") {
      namedTypes.set(node.id.name, node.typeAnnotation)
      if (node.id.name.endsWith("Event")) {
        const { typeAnnotation } = node
        const types = typeAnnotation.type === "TSUnionType" ? typeAnnotation.types : [typeAnnotation]
        events = types.map((type) => eventOf(type, text, comments))
      }
    }
  }
  return { events, input }
}

export const machineSources: ReadonlyArray<MachineSource> = await Promise.all(
  readdirSync(folder)
    .filter((file) => file.endsWith(".ts"))
    .sort()
    .map(async (file) => {
      const { events, input } = read(file)
      const beside = file.replace(".ts", "Events.ts")
      const exported: Record<string, unknown> = await import(join(folder, file))
      const find = (suffix: string) => Object.entries(exported).find(([name]) => name.endsWith(suffix))?.[1]
      return {
        name: file.slice(0, -3),
        machine: find("Machine") as AnyStateMachine,
        events: existsSync(join(folder, beside)) ? read(beside).events : events,
        input
      }
    })
).then((found) => found.filter(({ machine }) => machine !== undefined))
