/**
 * What an account did in each UTC hour, as far as rows that tell it are forgotten (operations, executes) or too many to be read each time
 * (samples). `hour`: its begin, epoch milliseconds.
 *
 * A sample says by how much the CPU time grew since the one before. What was measured before this step counts by the hour only.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table usage_hours (
      account_id text not null,
      hour bigint not null,
      cpu_us bigint not null default 0,
      cpu_samples bigint not null default 0,
      operations bigint not null default 0,
      executes bigint not null default 0,
      primary key (account_id, hour)
    ) with (fillfactor = 70)`
  yield* sql`alter table telemetry_samples add column account_id text, add column cpu_growth_us bigint`
  yield* sql`
    insert into usage_hours (account_id, hour, cpu_us, cpu_samples)
    select a.account_id, s.at / 3600000 * 3600000, sum(round(greatest(s.growth, 0) * 1e6)), count(*)
    from (
      select sandbox_id, at, cpu_seconds - coalesce(lag(cpu_seconds) over (partition by sandbox_id, generation order by at), 0) as growth
      from telemetry_samples where cpu_seconds is not null
    ) s join actors a on a.id = s.sandbox_id
    group by 1, 2`
  yield* sql`create index executions_account on executions (account_id, started_at)`
})
