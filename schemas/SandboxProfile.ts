/** What a Sandbox is allotted, as a request names it and as it is shown. */
import { Effect, Schema } from "effect"

const mebibyte = 1024 ** 2
const mebibytesMax = Math.floor(Number.MAX_SAFE_INTEGER / mebibyte)

/** A binary fraction cannot hold a tenth: the nearest one counts. */
const isTenths = Schema.makeFilter<number>((value) => Math.round(value * 10) / 10 === value, {
  expected: "a number with one digit after the decimal point",
  toJsonSchema: () => ({})
})

const areMebibytes = Schema.makeFilter<number>((value) => value % mebibyte === 0, {
  expected: `a multiple of ${mebibyte}`,
  toJsonSchema: () => ({})
})

const vcpus = Schema.Finite.check(Schema.isBetween({ minimum: 0.1, maximum: 1024 }), isTenths)
const mebibytes = Schema.Int.check(
  Schema.isBetween({ minimum: mebibyte, maximum: mebibytesMax * mebibyte }),
  areMebibytes
)

const given = <A>(schema: Schema.Codec<A, A>, description: string) =>
  Schema.optionalKey(Schema.NullOr(schema).annotate({ description }))

export const GivenProfile = Schema.Struct({
  vcpus: given(vcpus, "Virtual CPUs, in steps of 0.1."),
  memoryBytes: given(mebibytes, "Memory, in whole MiB."),
  diskBytes: given(mebibytes, "The size of its volume, in whole MiB.")
})
export interface GivenProfile extends Schema.Schema.Type<typeof GivenProfile> {}

export const profileOfCreate = given(
  GivenProfile,
  "Its sizes; each is within the bounds in `GET /me`, else 400 with the bounds. Absent or null, as each part of it: with a snapshotId as the snapshot has it, else as the operator has chosen."
)

export const profileOfUpdate = given(
  GivenProfile,
  "Its sizes, by part: one that is absent or null stays. Each is within the bounds in `GET /me`, and diskBytes never shrinks, else 400. A namespace Sandbox that runs gets them immediately; a virtual machine that runs gets the larger volume immediately, and the rest at its next start. It costs what they say from this change on. Less memory than a running namespace Sandbox has in use: 409 MEMORY_IN_USE. A volume that cannot grow while it is in use grows at the next start."
)

export const SandboxProfile = Schema.Struct({
  vcpus: Schema.Finite.annotate({ description: "Virtual CPUs, with tenths." }),
  memoryBytes: Schema.Int.annotate({ description: "Memory." }),
  diskBytes: Schema.Int.annotate({ description: "The size of its volume." })
}).annotate({ identifier: "SandboxProfile", description: "What it is allotted." })
export interface SandboxProfile extends Schema.Schema.Type<typeof SandboxProfile> {}

const bounds = (description: string) =>
  Schema.Struct({
    minimum: Schema.Finite.annotate({ description: "The least that a request may name." }),
    maximum: Schema.Finite.annotate({ description: "The most that a request may name." }),
    default: Schema.Finite.annotate({ description: "For a request that names none." })
  }).annotate({ description })

export const ProfileBounds = Schema.Struct({
  vcpus: bounds("Virtual CPUs."),
  memoryBytes: bounds("Memory."),
  diskBytes: bounds("The size of a volume.")
}).annotate({ identifier: "ProfileBounds", description: "The sizes that a Sandbox may have." })
export interface ProfileBounds extends Schema.Schema.Type<typeof ProfileBounds> {}

/** A running Sandbox would have less memory than it uses. */
export class MemoryInUse extends Schema.TaggedError<MemoryInUse>()(
  "MEMORY_IN_USE",
  {
    message: Schema.String.pipe(
      Schema.withConstructorDefault(
        Effect.succeed("The Sandbox has more memory in use. End processes in it, or stop it before it gets less.")
      )
    ),
    details: Schema.Struct({
      usedBytes: Schema.Int.annotate({ description: "How much memory it has in use." })
    })
  },
  { httpApiStatus: 409 }
) {}
