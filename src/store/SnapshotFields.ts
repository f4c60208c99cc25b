/** Fields of actors' snapshots in SQL: only the store knows how a snapshot is stored. `actor` is the name of the row in the statement. */

type FieldType = "text" | "int4" | "int8" | "float8" | "numeric"

/** A field of the context: null where it is null or absent. */
export const fieldOf = (actor: string, name: string, type: FieldType): string =>
  `(${actor}.snapshot -> 'context' ->> '${name}')::${type}`

/** A field of the context that is no plain value, as jsonb. */
export const jsonFieldOf = (actor: string, name: string): string => `(${actor}.snapshot -> 'context' -> '${name}')`

export const contextOf = (actor: string): string => `(${actor}.snapshot -> 'context')`

/** Of a Sandbox or a snapshot: the image that is its root; null: none is. */
export const imageIdOf = (actor: string): string => `(${actor}.snapshot -> 'context' -> 'image' ->> 'imageId')`

/** Of a Sandbox: the bytes of its volume. */
export const volumeBytesOf = (actor: string): string =>
  `(${actor}.snapshot -> 'context' -> 'profile' ->> 'diskBytes')::int8`

/**
 * The generation of a Sandbox, or that in which something of it was made. A process of before migration 0055 that still serves beside this one writes rows
 * without the column.
 */
export const generationOf = (actor: string): string =>
  `coalesce(${actor}.generation, ${fieldOf(actor, "generation", "int4")})`

/** Whether a command is pending, those of these names left aside. */
export const hasPendingBut = (actor: string, commands: ReadonlyArray<string>): string =>
  `${actor}.pending @? '$[*] ? (${commands.map((name) => `@.type != "${name}"`).join(" && ")})'`

/** Whether a command of that name is pending. */
export const hasPending = (actor: string, command: string): string =>
  `${actor}.pending @? '$[*] ? (@.type == "${command}")'`
