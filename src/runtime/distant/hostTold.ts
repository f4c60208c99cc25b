/**
 * Schemas for the values that a host may send to its services. A host is trusted with its own Sandboxes and no more. Its values end in rows, logs,
 * metrics and tables for people, so these schemas bound their length, size and characters.
 */
import { Schema, SchemaTransformation } from "effect"
import { shownProse } from "../agentClient/heldToShape.ts"

/** A sentence or a name for people. Decoding truncates it to `max` UTF-16 units and removes terminal control characters. */
export const Prose = (max: number) =>
  Schema.String.pipe(
    Schema.decodeTo(
      Schema.String,
      SchemaTransformation.transform({ decode: (text) => shownProse(text, max), encode: (text) => text })
    )
  )

/** The longest message of a fault. */
export const FAULT_MAX_CHARS = 1024

/** The id of a host, a Sandbox or a process: it is used in SQL, paths and labels of metrics. */
export const Id = Schema.String.check(Schema.isPattern(/^\w[\w-]{0,63}$/))

/** The id of a data folder, in DataFolder's form. */
export const HostId = Schema.String.check(Schema.isPattern(/^host_[0-9a-f]{24}$/))

/** The secret of a data folder, in DataFolder's form. */
export const HostKey = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))

/** The generation of a Sandbox: a PostgreSQL integer. */
export const Generation = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))

/** Names, and addresses of both families; a name has at most this length (RFC 1035). */
export const Address = Schema.Struct({
  host: Schema.String.check(Schema.isPattern(/^[\w.:%-]{1,253}$/)),
  port: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 }))
})
