/**
 * The hosts of a fleet for their operator, and the operator's commands: in the console and, by `--json`, on the command
 * line.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Operating } from "../Access.ts"
import { InvalidRequest, NotFound, PayloadTooLarge, UnsupportedMediaType } from "../Errors.ts"
import { withDefault } from "../Optional.ts"
import { integerWithDefault, NextCursor } from "../Query.ts"
import { Reason } from "../Sandbox.ts"
import { isCharactersBetween, isPlainText, Timestamp } from "../Text.ts"

/** States of machines/host.ts. */
const hostStates = ["joining", "ready", "cordoned", "draining", "suspect", "lost", "gone"] as const

/** Of one page: a browser requests it every two seconds. */
const hostsPageMax = 100
const hostsPageDefault = 50
/** Of a host's log. */
export const hostTransitionsMax = 20

/** An event of the host's machine that the operator may send. */
export const Asked = Schema.Literals(["CORDON", "DRAIN", "UNCORDON", "REMOVE", "REMOVE_FORCED"])
export type Asked = typeof Asked.Type

const Room = { vcpus: Schema.Int, memoryBytes: Schema.Int, diskBytes: Schema.Int }

/** Its id, label, version and address, and the sentences about it, are the host's own text. */
export const Host = Schema.Struct({
  id: Schema.String,
  label: Schema.String,
  state: Schema.String,
  since: Schema.NullOr(Timestamp).annotate({ description: "Null: it has no actor yet." }),
  wish: Schema.String.annotate({ description: "open, cordoned or draining: what the operator wants of it." }),
  asked: Schema.NullOr(Asked).annotate({ description: "What it was asked for and has not been told yet." }),
  reason: Schema.NullOr(Reason),
  kind: Schema.String,
  driver: Schema.String,
  version: Schema.String,
  address: Schema.Struct({ host: Schema.String, port: Schema.Int }),
  sandboxes: Schema.Struct({
    all: Schema.Int,
    up: Schema.Int,
    missing: Schema.Int.annotate({ description: "Of which nothing is there any more." })
  }),
  snapshots: Schema.NullOr(
    Schema.Struct({
      onlyHere: Schema.Int.annotate({ description: "Those that no other host in use has: they are lost with it." }),
      withMemory: Schema.Int.annotate({ description: "Of these, those with memory, which cannot be copied." })
    })
  ).annotate({ description: "Null: it is neither drained nor lost." }),
  images: Schema.NullOr(
    Schema.Struct({
      onlyHere: Schema.Int.annotate({
        description: "Uploaded ones that no other host in use has: they are lost with it."
      })
    })
  ).annotate({ description: "Null: it is neither drained nor lost." }),
  capacity: Schema.Struct({ ...Room, parallelStarts: Schema.Int }),
  promised: Schema.Struct(Room),
  networkRefused: Schema.NullOr(Schema.String),
  joinedAt: Timestamp,
  seenAt: Timestamp,
  seenSecondsAgo: Schema.Int
}).annotate({ identifier: "Host" })
export interface Host extends Schema.Schema.Type<typeof Host> {}

export const HostPage = Schema.Struct({
  isFleet: Schema.Boolean.annotate({
    description: "False: this service carries its Sandboxes itself, and has no hosts."
  }),
  states: Schema.Record(Schema.String, Schema.Int).annotate({
    description: "How many hosts are in each state, of all that ever joined; a state without any is not in it."
  }),
  hosts: Schema.Array(Host).annotate({ description: "One page of those that match, by their labels." }),
  matching: Schema.Int.annotate({ description: "How many match, on all pages." }),
  nextCursor: NextCursor
}).annotate({ identifier: "HostPage" })
export interface HostPage extends Schema.Schema.Type<typeof HostPage> {}

export const HostTransition = Schema.Struct({
  revision: Schema.Int,
  at: Timestamp,
  event: Schema.String,
  from: Schema.NullOr(Schema.String),
  to: Schema.String,
  cause: Schema.String.annotate({ description: "Who or what sent the event: `operator`, for what he asked for." })
}).annotate({ identifier: "HostTransition" })
export interface HostTransition extends Schema.Schema.Type<typeof HostTransition> {}

export const HostLife = Schema.Struct({
  host: Host,
  transitions: Schema.Array(HostTransition).annotate({
    description: `The latest ${hostTransitionsMax} that changed its state or were the operator's, newest first.`
  })
}).annotate({ identifier: "HostLife" })
export interface HostLife extends Schema.Schema.Type<typeof HostLife> {}

/** Null as `host`: no service has confirmed it within a moment, so it is done as soon as one does. */
const AskedHost = Schema.Struct({ host: Schema.NullOr(Host) }).annotate({ identifier: "AskedHost" })

/** It is only compared. */
const HostName = Schema.String.check(isCharactersBetween(1, 128), isPlainText)

const described = (identifier: string, summary: string) => OpenApi.annotations({ identifier, summary })

export class HostsGroup extends HttpApiGroup.make("hosts")
  .add(
    HttpApiEndpoint.get("listHosts", "/hosts", {
      query: {
        limit: integerWithDefault({ minimum: 1, maximum: hostsPageMax }, hostsPageDefault, "Most hosts of one page."),
        cursor: Schema.optionalKey(HostName),
        state: Schema.optionalKey(Schema.Literals(hostStates).annotate({ description: "Absent: any but gone." })),
        find: Schema.optionalKey(
          Schema.String.check(isCharactersBetween(0, 128), isPlainText).annotate({
            description: "A part of the label, or the beginning of the id."
          })
        )
      },
      success: HostPage
    }).annotateMerge(described("listHosts", "Hosts of the fleet")),
    HttpApiEndpoint.get("getHost", "/hosts/:hostId", {
      params: { hostId: HostName },
      success: HostLife,
      error: NotFound
    }).annotateMerge(described("getHost", "A host, and what its machine did last")),
    HttpApiEndpoint.post("wishOfHost", "/hosts/:hostId/wish", {
      params: { hostId: HostName },
      payload: Schema.Struct({ wish: Schema.Literals(["cordon", "drain", "uncordon"]) }),
      success: AskedHost,
      error: [InvalidRequest, NotFound, PayloadTooLarge, UnsupportedMediaType]
    }).annotateMerge(described("wishOfHost", "Cordon a host, drain it, or use it again")),
    HttpApiEndpoint.post("removeHost", "/hosts/:hostId/remove", {
      params: { hostId: HostName },
      payload: Schema.Struct({
        isForced: withDefault(Schema.Boolean, false, "Also a host in use, with the Sandboxes that run there.")
      }),
      success: AskedHost,
      error: [InvalidRequest, NotFound, PayloadTooLarge, UnsupportedMediaType]
    }).annotateMerge(described("removeHost", "Give a host up for good, with the volumes that are there"))
  )
  .middleware(Operating) {}
