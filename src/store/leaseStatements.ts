/** Statements about the processes of a cluster and their shards. The database's clock decides which leases are valid. */
import { Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { textColumn } from "./Columns.ts"

const JoiningProcess = Schema.Struct({
  address: Schema.String,
  /** Its description of itself when it joined. */
  runner: Schema.String
})

export type JoiningProcess = typeof JoiningProcess.Type

const LivingProcess = Schema.Struct({
  ...JoiningProcess.fields,
  id: Schema.String,
  /** Ascending: a process that joined later has a greater id. */
  machineId: Schema.Int,
  /** Ids of the processes that it reaches, including its own if it reaches hosts; null: its version does not report them. */
  reached: Schema.NullOr(Schema.Array(Schema.String))
})

export type LivingProcess = typeof LivingProcess.Type

const SeenProcess = Schema.Struct({
  ...LivingProcess.fields,
  /** By the database's clock, in epoch milliseconds. */
  seenAt: Schema.Number
})

const Holding = Schema.Struct({ id: Schema.String, shards: Schema.Array(Schema.String) })

const processStatements = (sql: SqlClient.SqlClient, interval: string) => {
  const insertProcess = SqlSchema.findOne({
    Request: Schema.Struct({ ...JoiningProcess.fields, id: Schema.String }),
    Result: Schema.Struct({ machine_id: Schema.Int }),
    execute: ({ id, address, runner }) => sql`
      with predecessor as (delete from cluster_processes where address = ${address})
      insert into cluster_processes (id, address, runner, reached, lease_until)
      values (${id}, ${address}, ${runner}, '{}', clock_timestamp() + ${interval}::interval)
      returning machine_id`
  })

  /** One round trip. A statement does not see its own writes, so this process's row is the previous one. */
  const findLiving = SqlSchema.findAll({
    Request: Schema.Struct({ id: Schema.String, reached: Schema.Array(Schema.String) }),
    Result: SeenProcess,
    execute: ({ id, reached }) => {
      const now = sql`${textColumn(reached)}::text[]`
      return sql`
        with said as (
          update cluster_processes set reached = ${now} where id = ${id} and reached is distinct from ${now})
        select id, machine_id as "machineId", address, runner,
          case when id = ${id} then ${now} else reached end as reached,
          (extract(epoch from clock_timestamp()) * 1000)::float8 as "seenAt"
        from cluster_processes where not leaving and lease_until > clock_timestamp()`
    }
  })

  return { insertProcess, findLiving }
}

const shardStatements = (sql: SqlClient.SqlClient, interval: string) => {
  /**
   * No row: the process is not registered any more. A process without any of the shards has one row with null. Deletes shards that
   * this process was given after it had stopped waiting for them: no other process could have them while this one lives.
   */
  const renewProcess = SqlSchema.findAll({
    Request: Schema.Struct({ ...Holding.fields, kept: Schema.Array(Schema.String) }),
    Result: Schema.Struct({ shard_id: Schema.NullOr(Schema.String) }),
    execute: ({ id, shards, kept }) => sql`
      with renewed as (
        update cluster_processes set lease_until = clock_timestamp() + ${interval}::interval where id = ${id} returning id),
      given_back as (
        delete from cluster_shards using renewed
        where process_id = renewed.id and shard_id <> all(${textColumn(kept)}::text[]))
      select shard_id from renewed
      left join cluster_shards on process_id = renewed.id and shard_id = any(${textColumn(shards)}::text[])`
  })

  /**
   * One round trip for any number of shards. The statement locks the row of an expired process and may take all its shards. A process that
   * renews at that moment has locked its row first, and is skipped.
   */
  const takeFree = SqlSchema.findAll({
    Request: Holding,
    Result: Schema.Struct({ shard_id: Schema.String }),
    execute: ({ id, shards }) => {
      const wanted = sql`${textColumn(shards)}::text[]`
      return sql`
        with me as (select id from cluster_processes where id = ${id} and not leaving),
        dead as (
          delete from cluster_processes where id in (
            select id from cluster_processes where lease_until < clock_timestamp() and id <> ${id}
            order by id for update skip locked)
          returning id),
        moved as (
          update cluster_shards set process_id = me.id from me
          where shard_id = any(${wanted}) and process_id in (select id from dead) returning shard_id),
        added as (
          insert into cluster_shards (shard_id, process_id)
          select shard, me.id from me, unnest(${wanted}) as shard
          order by shard collate "C" on conflict do nothing returning shard_id)
        select shard_id from moved union all select shard_id from added union all
        select shard_id from cluster_shards where process_id = ${id} and shard_id = any(${wanted})`
    }
  })

  return { renewProcess, takeFree }
}

export const leaseStatements = (sql: SqlClient.SqlClient, leaseMs: number) => {
  const interval = `${leaseMs} milliseconds`
  return {
    ...processStatements(sql, interval),
    ...shardStatements(sql, interval),
    /** The process asks for no more shards. */
    markLeaving: (id: string) => sql`update cluster_processes set leaving = true where id = ${id}`,
    deleteShard: (id: string, shard: string) =>
      sql`delete from cluster_shards where process_id = ${id} and shard_id = ${shard}`,
    /** Deletes the process, too, if it is leaving. */
    deleteShards: (id: string) => sql`
      with gone as (delete from cluster_processes where id = ${id} and leaving)
      delete from cluster_shards where process_id = ${id}`
  }
}

export type LeaseStatements = ReturnType<typeof leaseStatements>
