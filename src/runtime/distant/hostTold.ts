/**
 * What a host may say, as its services take it: a host is trusted with its own Sandboxes and no more. What it says ends in rows, logs, metrics and tables
 * for people, so nothing of it is longer, greater or stranger than these.
 */
import { Schema, SchemaTransformation } from "effect"
import { shownProse } from "../agentClient/heldToShape.ts"

/** A sentence or a name for people. Cut to so many UTF-16 units, without what a terminal would obey, when it is read. */
export const Prose = (max: number) =>
  Schema.String.pipe(
    Schema.decodeTo(
      Schema.String,
      SchemaTransformation.transform({ decode: (text) => shownProse(text, max), encode: (text) => text })
    )
  )

/** The longest that is said of a fault. */
export const FAULT_MAX_CHARS = 1024

/** Of a host, a Sandbox or a process: it stands in SQL, paths and labels of metrics. */
export const Id = Schema.String.check(Schema.isPattern(/^\w[\w-]{0,63}$/))

/** Of a data folder, as DataFolder makes it. */
export const HostId = Schema.String.check(Schema.isPattern(/^host_[0-9a-f]{24}$/))

/** Of a data folder, as DataFolder makes it. */
export const HostKey = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))

/** Of a Sandbox: PostgreSQL's integer. */
export const Generation = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))

/** Names, and addresses of both families; a name of one is at most as long (RFC 1035). */
export const Address = Schema.Struct({
  host: Schema.String.check(Schema.isPattern(/^[\w.:%-]{1,253}$/)),
  port: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 }))
})
