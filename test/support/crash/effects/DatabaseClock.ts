/**
 * The clock of a database, moved by the test: leases end by the database's time. The server reads it from a file that the test writes, so that it moves
 * at the same moment as the services' own.
 */
import { chmodSync, closeSync, openSync, writeSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const digits = 16

export class DatabaseClock {
  readonly #path: string
  readonly #file: number

  /** @param folder Readable for the database server. */
  constructor(folder: string) {
    this.#path = join(folder, "clock")
    this.#file = openSync(this.#path, "w", 0o644)
    chmodSync(this.#path, 0o644)
  }

  set(nowMs: number): void {
    // One write of one length: a reader sees either instant whole.
    writeSync(this.#file, String(Math.floor(nowMs)).padStart(digits, "0"), 0)
  }

  /** For connections that are opened from now on: `clock_timestamp()` is that of the file. */
  get installed(): Effect.Effect<void, never, SqlClient.SqlClient> {
    return Effect.flatMap(SqlClient.SqlClient, (sql) =>
      sql
        .unsafe(
          `create or replace function public.clock_timestamp() returns timestamptz language sql volatile
           as $$ select pg_catalog.to_timestamp(pg_catalog.pg_read_file('${this.#path}')::float8 / 1000) $$`
        )
        .pipe(
          Effect.andThen(
            sql.unsafe(
              `do $$ begin execute format('alter database %I set search_path = public, pg_catalog', current_database()); end $$`
            )
          )
        )
    ).pipe(Effect.asVoid, Effect.orDie)
  }

  /** Its own time again, for connections that are opened from now on. */
  readonly removed: Effect.Effect<void, never, SqlClient.SqlClient> = Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.unsafe(
      `do $$ begin
         execute format('alter database %I reset search_path', current_database());
         drop function if exists public.clock_timestamp();
       end $$`
    )
  ).pipe(Effect.asVoid, Effect.orDie)

  close(): void {
    closeSync(this.#file)
  }
}
