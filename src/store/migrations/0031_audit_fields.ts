/**
 * What an event of the audit log says more than before: how the call came in, the action, the thing it was about, its error, its client.
 *
 * Lists are by instant, so that `from` and `to` bound what an index reads; each filter, and both together, has an index in that order.
 * Older events get their action from method and path; a preview id in a path is a capability, and is removed.
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

  // A new table: every row changes, and writing each once is several times as fast as updating it.
  yield* sql`
    create table audit_events_anew (
      id text not null,
      account_id text not null,
      at bigint not null,
      source text not null default 'api',
      action text not null default 'unknown',
      api_key_id text,
      key_hint text,
      key_name text,
      method text not null,
      path text not null,
      sandbox_id text,
      target_type text,
      target_id text,
      status integer not null,
      error_code text,
      request_id text not null,
      source_ip text not null,
      user_agent text
    )`
  yield* sql`
    insert into audit_events_anew (id, account_id, at, action, api_key_id, key_hint, key_name, method, path, sandbox_id,
      target_type, target_id, status, request_id, source_ip)
    select e.id, e.account_id, e.at, coalesce(a.action, 'unknown'), e.api_key_id, e.key_hint, k.name, e.method,
      case when e.word6 = 'previews' then regexp_replace(e.path, '/previews/[^/]*', '/previews/{previewId}') else e.path end,
      e.sandbox_id, a.target_type,
      case a.target_type
        when 'apiKey' then e.api_key_id
        when 'sandbox' then e.sandbox_id
        when 'preview' then null
        else case when e.word7 <> 'lookup' then nullif(e.word7, '') end
      end,
      e.status, e.request_id, e.source_ip
    from (
      select *,
        case when word4 = 'sandboxes' and word5 ~ '^sbx_[0-9a-hjkmnp-tv-z]{26}$' then word5 end as sandbox_id,
        method || ' ' || word4
          || case when word5 <> '' then '/*' else '' end
          || case when word6 <> '' then '/' || word6 else '' end
          || case when word7 = '' then '' when word6 = 'files' or word7 = 'lookup' then '/' || word7 else '/*' end
          || case when word8 <> '' then '/' || word8 else '' end as call
      from (
        select *, split_part(path, '/', 4) as word4, split_part(path, '/', 5) as word5, split_part(path, '/', 6) as word6,
          split_part(path, '/', 7) as word7, split_part(path, '/', 8) as word8
        from audit_events
      ) words
    ) e
    left join api_keys k on k.id = e.api_key_id
    left join unnest(${actions.map(([call]) => call)}::text[], ${actions.map(([, action]) => action)}::text[],
      ${actions.map(([, , target]) => target)}::text[]) as a (call, action, target_type) on a.call = e.call`
  yield* sql`drop table audit_events`
  yield* sql`alter table audit_events_anew rename to audit_events`
  yield* sql`alter table audit_events add constraint audit_events_pkey primary key (id)`
  yield* sql`create index audit_events_at on audit_events (at)`
  yield* sql`create index audit_events_account on audit_events (account_id, at desc, id desc)`
  yield* sql`create index audit_events_action on audit_events (account_id, action, at desc, id desc)`
  yield* sql`
    create index audit_events_sandbox on audit_events (account_id, sandbox_id, at desc, id desc)
    where sandbox_id is not null`
  yield* sql`
    create index audit_events_sandbox_action on audit_events (account_id, sandbox_id, action, at desc, id desc)
    where sandbox_id is not null`
})
