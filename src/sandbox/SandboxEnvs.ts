/**
 * The variables that a Sandbox gives to every command. They are secrets: a separate table stores them encrypted, and everything else about a
 * Sandbox (its context, its log, events, listings of backups) has only their names and the present version.
 *
 * A version never changes, so its content may be cached. A change first stores a new version, then the machine's transition names it, then the
 * previous version is deleted. A version that no transition names (the service was killed in between) is deleted with its Sandbox.
 *
 * They are encrypted with a key of the server, bound to the Sandbox and the version.
 */
import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { ofThisVersion } from "../../machines/sandboxVersions.ts"
import type { KeptEnv, SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import { newId } from "../platform/identifier/newId.ts"
import { type ActorRecord, Actors } from "../store/Actors.ts"
import { BoundedMap } from "../store/BoundedMap.ts"
import { seal, unseal } from "../store/Sealed.ts"
import { serverKey } from "../store/ServerKeys.ts"

export type Env = Readonly<Record<string, string>>

const remembered = 1000
/** A missing version was replaced meanwhile; that does not happen so often in a row. */
const lookTimes = 5
const noEnv: Env = {}

const EnvJson = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))
const encode = Schema.encodeSync(EnvJson)
const decode = Schema.decodeSync(EnvJson)

/** Throws for variables that were sealed for another Sandbox, or by another server. */
const open = (key: Uint8Array, boundTo: string, sealed: Uint8Array): Env => {
  const text = unseal(key, boundTo, sealed)
  if (text === null) throw new Error(`The variables of ${boundTo} were not sealed by this server.`)
  return decode(text)
}

export class SandboxEnvs extends Context.Service<
  SandboxEnvs,
  {
    /** Null if there are no variables. `keep` stores the result. */
    readonly name: (env: Env) => KeptEnv | null
    /** Stores the result of `name`, in the caller's transaction if there is one. */
    readonly keep: (sandboxId: string, kept: KeptEnv, env: Env) => Effect.Effect<void>
    /** The variables of that version; if it was replaced meanwhile, the present ones. */
    readonly read: (sandboxId: string, version: string | null) => Effect.Effect<Env>
    /** The present variables. */
    readonly present: (sandboxId: string) => Effect.Effect<Env>
    /** @param version Null: all versions of the Sandbox. */
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
        return yield* Effect.die(new Error(`The variables of ${sandboxId} are missing.`))
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
