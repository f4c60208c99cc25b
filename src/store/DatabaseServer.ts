/** The Postgres of this process: the server of `DATABASE_URL`, or the embedded one. */
import type { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Redacted } from "effect"
import { Settings } from "../Config.ts"
import { EmbeddedPostgres } from "../ops/postgres/EmbeddedPostgres.ts"

export class DatabaseServer extends Context.Service<
  DatabaseServer,
  {
    /** Connection options. `path` is the socket file itself. */
    readonly connect: Pick<PgClient.PgClientConfig, "url" | "path" | "username" | "database">
    /** Its address for people, without secrets. */
    readonly label: string
  }
>()("atoll/store/DatabaseServer") {
  static readonly embedded = Layer.effect(
    DatabaseServer,
    Effect.map(EmbeddedPostgres, ({ socketPath, username }) => ({
      connect: { path: socketPath, username, database: "postgres" },
      label: `the embedded Postgres at ${socketPath}`
    }))
  )

  static at(url: Redacted.Redacted): Layer.Layer<DatabaseServer> {
    return Layer.succeed(DatabaseServer, { connect: { url }, label: `DATABASE_URL (${withoutSecrets(url)})` })
  }

  static readonly layer = Layer.unwrap(
    Effect.map(Settings, ({ databaseUrl }) =>
      databaseUrl === null
        ? DatabaseServer.embedded.pipe(Layer.provide(EmbeddedPostgres.layer))
        : DatabaseServer.at(databaseUrl)
    )
  )
}

const withoutSecrets = (url: Redacted.Redacted): string => {
  try {
    const { host, pathname, searchParams } = new URL(Redacted.value(url))
    return `${searchParams.get("host") ?? host}${pathname}`
  } catch {
    return "not a URL"
  }
}
