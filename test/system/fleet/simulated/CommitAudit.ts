/**
 * Audits every commit: an account never has more Sandboxes than its limit, a host never has more reserved than it has,
 * and its sums are always those of its reservations.
 * Triggers run at the very end of each transaction, one transaction at a time, so each of them sees all earlier
 * commits. They change nothing and refuse nothing: they record what they find.
 */

import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { countedStates } from "../../../../src/sandbox/sandboxStates.ts"

const turn = "perform pg_advisory_xact_lock(724)"

/** A Sandbox that was refused for lack of room is counted again while it is deleted, which takes room from no other. */
const keptStates = countedStates.filter((state) => state !== "deleting")

const literals = (words: ReadonlyArray<string>) => words.map((word) => `'${word}'`).join(", ")

const statements = (sandboxesPerAccount: number) => [
  "create table audit_faults (what text not null)",
  "create table audit_looks (what text primary key, times bigint not null)",
  "insert into audit_looks values ('accounts', 0), ('hosts', 0)",
  `create function audit_account() returns trigger language plpgsql as $$
     declare found int;
     begin
       ${turn};
       update audit_looks set times = times + 1 where what = 'accounts';
       select count(*) into found from actors
         where account_id = new.account_id and kind = 'sandbox' and status in (${literals(keptStates)});
       if found > ${sandboxesPerAccount} then
         insert into audit_faults values (new.account_id || ' has ' || found || ' Sandboxes of ${sandboxesPerAccount}');
       end if;
       return null;
     end $$`,
  `create constraint trigger audit_account after insert on actors deferrable initially deferred
     for each row when (new.kind = 'sandbox') execute function audit_account()`,
  `create constraint trigger audit_account_again after update on actors deferrable initially deferred
     for each row when (new.kind = 'sandbox' and old.status not in (${literals(keptStates)}) and new.status in (${literals(keptStates)}))
     execute function audit_account()`,
  `create function audit_host() returns trigger language plpgsql as $$
     declare
       host hosts;
       sums record;
     begin
       ${turn};
       update audit_looks set times = times + 1 where what = 'hosts';
       select * into host from hosts
         where id = case when tg_op = 'DELETE' then to_jsonb(old) ->> tg_argv[0] else to_jsonb(new) ->> tg_argv[0] end;
       if not found then return null; end if;
       select coalesce(sum(vcpus) filter (where is_up), 0) as vcpus, coalesce(sum(memory_bytes) filter (where is_up), 0) as memory,
              coalesce(sum(disk_bytes), 0) as disk
         into sums from host_promises where host_id = host.id;
       if (sums.vcpus, sums.memory, sums.disk) is distinct from
          (host.vcpus_promised::bigint, host.memory_promised::numeric, host.disk_promised::numeric) then
         insert into audit_faults values (host.id || ' says that it promised ' ||
           (host.vcpus_promised, host.memory_promised, host.disk_promised)::text || ', and promised ' || sums::text);
       end if;
       if sums.vcpus > host.vcpus or sums.memory > host.memory_bytes or sums.disk > host.disk_bytes then
         insert into audit_faults values (host.id || ' promised ' || sums::text || ' of ' ||
           (host.vcpus, host.memory_bytes, host.disk_bytes)::text);
       end if;
       return null;
     end $$`,
  `create constraint trigger audit_promises after insert or update or delete on host_promises deferrable initially deferred
     for each row execute function audit_host('host_id')`,
  `create constraint trigger audit_sums after update on hosts deferrable initially deferred
     for each row when ((old.vcpus_promised, old.memory_promised, old.disk_promised) is distinct from
                        (new.vcpus_promised, new.memory_promised, new.disk_promised))
     execute function audit_host('id')`
]

export const CommitAudit = {
  /** Before anything is done on it. */
  install: (sql: SqlClient.SqlClient, sandboxesPerAccount: number) =>
    Effect.forEach(statements(sandboxesPerAccount), (statement) => sql.unsafe(statement), { discard: true }),

  /** The findings so far, and the number of checks. */
  found: Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
    const faults = yield* sql<{ readonly what: string }>`select what from audit_faults limit 20`
    const looks = yield* sql<{ readonly what: string; readonly times: bigint }>`select what, times from audit_looks`
    return {
      faults: faults.map(({ what }) => what),
      looks: Object.fromEntries(looks.map(({ what, times }) => [what, Number(times)]))
    }
  })
}
