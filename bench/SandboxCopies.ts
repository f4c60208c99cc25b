/** Many stored Sandboxes from one: a service that meets a database of a million need not have made each. */

const piece = 50_000

type Query = <A extends object>(text: string) => Promise<ReadonlyArray<A>>

/** @param tag Makes the ids: those of another tag are others. */
export interface Copies {
  readonly model: string
  readonly tag: string
  readonly count: number
  /** Unix ms of each copy's one deadline, its deletion. */
  readonly dueAt: number
}

/** The id of the copy with that number, from 1: as long as a real one, so that the API knows it. */
export const copyIdSql = (tag: string, number: string): string => `'sbx_0' || left(md5('${tag}' || ${number}), 25)`

/** Copies the row of the model, which must be stopped and have no command pending. */
export const copySandboxes = async (query: Query, { model, tag, count, dueAt }: Copies): Promise<void> => {
  const named = await query<{ column_name: string }>(
    "select column_name from information_schema.columns where table_name = 'actors' and is_generated = 'NEVER' order by ordinal_position"
  )
  const columns = named.map(({ column_name }) => column_name)
  for (let from = 0; from < count; from += piece) {
    const values = columns.map((name) =>
      name === "id" || name === "sandbox_id"
        ? copyIdSql(tag, "i")
        : name === "due_at"
          ? String(dueAt)
          : name === "deadlines"
            ? `'{"deletion": {"at": ${dueAt}, "event": {"type": "DELETE_DUE"}}}'::jsonb`
            : name
    )
    await query(
      `insert into actors (${columns.join(", ")}) select ${values.join(", ")} from actors, generate_series(${from + 1}, ${Math.min(count, from + piece)}) as i where id = '${model}'`
    )
  }
}

/** Before a benchmark's end, which deletes each Sandbox by a request. */
export const removeCopies = (query: Query, tag: string, count: number) =>
  query(`delete from actors where id in (select ${copyIdSql(tag, "i")} from generate_series(1, ${count}) as i)`)
