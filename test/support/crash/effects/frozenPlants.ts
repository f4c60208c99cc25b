/** Faults of a service that was frozen, which a sweep with a second service must find. */
import type { PgClient } from "@effect/sql-pg"
import { Context } from "effect"
import { JournalDatabase } from "../../../../src/store/Database.ts"
import type { Plant } from "./plants.ts"

/** The journal's statements are written otherwise. */
const rewritten =
  (rewrite: (text: string) => string): NonNullable<Plant["database"]> =>
  (found) => {
    const client = Context.get(found as Context.Context<JournalDatabase>, JournalDatabase)
    const planted = new Proxy(client, {
      get: (target, property, receiver) =>
        property === "unsafe"
          ? (text: string, parameters: ReadonlyArray<unknown>) => target.unsafe(rewrite(text), parameters)
          : Reflect.get(target, property, receiver)
    }) as PgClient.PgClient
    return Context.add(found, JournalDatabase, planted) as Context.Context<never>
  }

/** A commit takes an actor at whatever revision it is: an owner that lost it is not fenced. */
export const noFence: Plant = {
  database: rewritten((text) =>
    text
      .replace("set revision = i.revision", "set revision = a.revision + 1")
      .replaceAll("a.revision = i.expected", "true")
      .replace("returning a.id", "returning a.id, a.revision")
      .replace("select i.id, i.revision, i.at", "select i.id, u.revision, i.at")
  )
}

/** A stop ends a machine of any generation. */
export const stopsAny: Plant = {
  runtime: (runtime) => ({ ...runtime, stop: (sandboxId) => runtime.stop(sandboxId, Number.MAX_SAFE_INTEGER) })
}
