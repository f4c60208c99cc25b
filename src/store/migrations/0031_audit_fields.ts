/**
 * What an event of the audit log says more than before: how the call came in, the action, the thing it was about, its error, its client.
 *
 * Lists are by instant, so that `from` and `to` bound what an index reads; each filter, and both together, has an index in that order.
 * Events of before are told their action by method and path; a preview id that stands in a path is a capability, and goes.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Method and path without /api/v2, with * for ids: action, and the kind of thing it is about. */
const actions = [
  ["DELETE auth", "revokeKey", "apiKey"],
  ["POST workspaces", "createWorkspace", "workspace"],
  ["POST sandboxes", "createSandbox", "sandbox"],
  ["DELETE sandboxes/*", "deleteSandbox", "sandbox"],
  ["POST sandboxes/*/start", "startSandbox", "sandbox"],
  ["POST sandboxes/*/stop", "stopSandbox", "sandbox"],
  ["POST sandboxes/*/execute", "execute", "sandbox"],
  ["POST sandboxes/*/operations", "startOperation", "operation"],
  ["POST sandboxes/*/operations/*/wait", "waitOperation", "operation"],
  ["POST sandboxes/*/operations/*/cancel", "cancelOperation", "operation"],
  ["DELETE sandboxes/*/processes/*", "endProcess", "process"],
  ["PUT sandboxes/*/files/content", "writeFile", "sandbox"],
  ["PATCH sandboxes/*/files/content", "editFile", "sandbox"],
  ["POST sandboxes/*/files/directory", "createDirectory", "sandbox"],
  ["POST sandboxes/*/files/rename", "renameFile", "sandbox"],
  ["DELETE sandboxes/*/files", "removeFile", "sandbox"],
  ["POST sandboxes/*/previews", "createPreview", "preview"],
  ["DELETE sandboxes/*/previews/*", "closePreview", "preview"],
  ["POST sandboxes/*/services", "createServiceAccess", "serviceAccess"],
  ["POST sandboxes/*/services/lookup", "lookUpServiceAccess", "serviceAccess"],
  ["DELETE sandboxes/*/services/*", "revokeServiceAccess", "serviceAccess"],
  ["POST sandboxes/*/cooperative-connection", "grantConnection", "connectionGrant"],
  ["POST sandboxes/*/cooperative-connection/*", "regrantConnection", "connectionGrant"],
  ["DELETE sandboxes/*/cooperative-connection/*", "revokeConnection", "connectionGrant"]
] as const

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    alter table audit_events
      alter column api_key_id drop not null,
      alter column key_hint drop not null,
      add column source text not null default 'api',
      add column action text not null default 'unknown',
      add column key_name text,
      add column sandbox_id text,
      add column target_type text,
      add column target_id text,
      add column error_code text,
      add column user_agent text`
  yield* sql`drop index audit_events_account`

  yield* sql`
    update audit_events e
    set action = coalesce(a.action, 'unknown'),
      target_type = a.target_type,
      target_id = case a.target_type
        when 'apiKey' then e.api_key_id
        when 'sandbox' then s.sandbox_id
        when 'preview' then null
        else case when s.word7 <> 'lookup' then nullif(s.word7, '') end
      end,
      sandbox_id = s.sandbox_id,
      key_name = k.name,
      path = regexp_replace(e.path, '/previews/[^/]*', '/previews/{previewId}')
    from (
      select id, api_key_id, split_part(path, '/', 7) as word7,
        substring(path from '^/api/v2/sandboxes/(sbx_[0-9a-hjkmnp-tv-z]{26})(?:/|$)') as sandbox_id,
        method || ' ' || split_part(path, '/', 4)
          || case when split_part(path, '/', 5) <> '' then '/*' else '' end
          || case when split_part(path, '/', 6) <> '' then '/' || split_part(path, '/', 6) else '' end
          || case when split_part(path, '/', 7) = '' then ''
                  when split_part(path, '/', 6) = 'files' or split_part(path, '/', 7) = 'lookup' then '/' || split_part(path, '/', 7)
                  else '/*' end
          || case when split_part(path, '/', 8) <> '' then '/' || split_part(path, '/', 8) else '' end as call
      from audit_events
    ) s
    left join unnest(${actions.map(([call]) => call)}::text[], ${actions.map(([, action]) => action)}::text[],
      ${actions.map(([, , target]) => target)}::text[]) as a (call, action, target_type) on a.call = s.call
    left join api_keys k on k.id = s.api_key_id
    where e.id = s.id`

  yield* sql`create index audit_events_account on audit_events (account_id, at desc, id desc)`
  yield* sql`create index audit_events_action on audit_events (account_id, action, at desc, id desc)`
  yield* sql`
    create index audit_events_sandbox on audit_events (account_id, sandbox_id, at desc, id desc)
    where sandbox_id is not null`
  yield* sql`
    create index audit_events_sandbox_action on audit_events (account_id, sandbox_id, action, at desc, id desc)
    where sandbox_id is not null`
})
