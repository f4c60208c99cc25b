/** Accounts, and what people and the operator have, for the checks of a run. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const rows = <A extends object>(text: string) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<A>(text))

const accounts = rows<{ readonly line: string }>(`
  select concat_ws(' ', 'account', a.name, a.billing, case when a.suspended_at is not null then 'suspended' end,
                   'limits', coalesce(a.sandboxes_limit::text, '-'), coalesce(a.workspaces_limit::text, '-'),
                   'signs in as', coalesce(p.email, '-')) as line
  from accounts a left join passphrases p on p.account_id = a.id`)

const credit = rows<{ readonly line: string }>(`
  select concat_ws(' ', 'credit of', a.name, g.kind, g.granted_micro_usd, g.description) as line
  from grants g join accounts a on a.id = g.account_id`)

const rates = rows<{ readonly line: string }>(`
  select distinct concat_ws(' ', 'rates', vcpu_second_nano_usd, memory_gib_second_nano_usd, volume_gib_second_nano_usd,
    snapshot_gib_second_nano_usd) as line from rate_cards`)

/** Open ones are left out: who had no answer asked for another one. */
const invitations = rows<{ readonly id: string; readonly line: string }>(`
  select i.id, concat_ws(' ', 'invitation', i.email, case when i.used_at is null then 'revoked' else 'used by ' || a.name end) as line
  from invitations i left join accounts a on a.id = i.account_id where i.used_at is not null or i.revoked_at is not null`)

const keys = rows<{ readonly id: string; readonly line: string }>(`
  select k.id, concat_ws(' ', 'key', k.name, 'of', a.name, k.scopes, case when k.revoked_at is not null then 'revoked by ' || k.revoked_by end) as line
  from api_keys k join accounts a on a.id = k.account_id`)

/** @param told Ids that clients were told: there may be more, of answers that were lost. */
export const peopleLines = (told: ReadonlySet<string>) =>
  Effect.map(Effect.all([accounts, credit, rates, invitations, keys]), ([accounts, credit, rates, invitations, keys]) =>
    [...accounts, ...credit, ...rates, ...[...invitations, ...keys].filter(({ id }) => told.has(id))].map(
      ({ line }) => line
    )
  )
