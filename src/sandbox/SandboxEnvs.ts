/**
 * The variables that Sandboxes give to every command. They are secrets: they lie sealed in a table of their own, and whatever is shown of a
 * Sandbox (its context, its log, events, backups' listings) has only their names and the version that counts.
 *
 * A version never changes, so whoever has its name may keep what is in it. A change stores a new one first and lets the machine name it
 * afterwards; the one before is removed then. One that no machine came to name (the service was killed between) goes with its Sandbox.
 *
 * Sealed under a key of the server, and bound to the Sandbox and the version.
 */
import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { ofThisVersion } from "../../machines/sandbox.ts"
import type { KeptEnv, SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import { newId } from "../identifier/newId.ts"
import { type ActorRecord, Actors } from "../store/Actors.ts"
import { BoundedMap } from "../store/BoundedMap.ts"
import { seal, unseal } from "../store/Sealed.ts"
import { serverKey } from "../store/ServerKeys.ts"

export type Env = Readonly<Record<string, string>>

const remembered = 1000
/** A version that is gone was replaced; so often in a row it is not. */
const lookTimes = 5
const noEnv: Env = {}

const EnvJson = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))
const encode = Schema.encodeSync(EnvJson)
const decode = Schema.decodeSync(EnvJson)

/** Throws for what was sealed for another Sandbox, or by another server. */
const open = (key: Uint8Array, boundTo: string, sealed: Uint8Array): Env => {
  const text = unseal(key, boundTo, sealed)
  if (text === null) throw new Error(`The variables of ${boundTo} were not sealed by this server.`)
  return decode(text)
}

export class SandboxEnvs extends Context.Service<
  SandboxEnvs,
  {
    /** Null for no variables at all. Stored by `keep`. */
    readonly name: (env: Env) => KeptEnv | null
    /** Stores what `name` named, in the caller's transaction if there is one. */
    readonly keep: (sandboxId: string, kept: KeptEnv, env: Env) => Effect.Effect<void>
    /** The variables of that version; where it was replaced meanwhile, the present ones. */
    readonly read: (sandboxId: string, version: string | null) => Effect.Effect<Env>
    /** The present ones. */
    readonly present: (sandboxId: string) => Effect.Effect<Env>
    /** @param version Null: all of the Sandbox. */
    readonly forget: (sandboxId: string, version: string | null) => Effect.Effect<void>
  }
>()("atoll/sandbox/SandboxEnvs") {
  static readonly layer = Layer.effect(
    SandboxEnvs,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const actors = yield* Actors
      const key = yield* serverKey("sandbox env")
      const opened = new BoundedMap<string, Env>(remembered)

      const findSealed = SqlSchema.findOneOption({
        Request: Schema.Struct({ sandboxId: Schema.String, version: Schema.String }),
        Result: Schema.Struct({ sealed: Schema.Uint8Array }),
        execute: ({ sandboxId, version }) =>
          sql`select sealed from sandbox_envs where version = ${version} and sandbox_id = ${sandboxId}`
      })

      const versionOf = Effect.fnUntraced(function* (sandboxId: string) {
        const record = (yield* actors.read(sandboxId)) as ActorRecord<SandboxContext> | null
        return record === null ? null : (ofThisVersion(record.status, record.context).env?.version ?? null)
      })

      const read = Effect.fnUntraced(function* (sandboxId: string, asked: string | null) {
        let version = asked
        for (let look = 0; look < lookTimes; look++) {
          if (version === null) return noEnv
          const known = opened.get(version)
          if (known !== undefined) return known
          const found = Option.getOrNull(yield* Effect.orDie(findSealed({ sandboxId, version })))
          if (found !== null) {
            const env = open(key, `${sandboxId} ${version}`, found.sealed)
            opened.set(version, env)
            return env
          }
          version = yield* versionOf(sandboxId)
        }
        return yield* Effect.die(new Error(`The variables of ${sandboxId} are not found.`))
      })

      return SandboxEnvs.of({
        name: (env) => {
          const names = Object.keys(env).sort()
          return names.length === 0 ? null : { version: newId("env_"), names }
        },
        keep: (sandboxId, { version }, env) => {
          const sealed = seal(key, `${sandboxId} ${version}`, encode(env))
          return sql`insert into sandbox_envs (version, sandbox_id, sealed) values (${version}, ${sandboxId}, ${sealed})`.pipe(
            Effect.orDie,
            Effect.asVoid
          )
        },
        read,
        present: (sandboxId) => Effect.flatMap(versionOf(sandboxId), (version) => read(sandboxId, version)),
        forget: (sandboxId, version) => {
          if (version !== null) opened.delete(version)
          return sql`delete from sandbox_envs where sandbox_id = ${sandboxId} and (${version}::text is null or version = ${version})`.pipe(
            Effect.orDie,
            Effect.asVoid
          )
        }
      })
    })
  )
}
