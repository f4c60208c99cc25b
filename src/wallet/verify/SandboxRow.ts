/** The log and the meter of a Sandbox, a snapshot or an image, side by side. */

export interface SandboxRow {
  readonly id: string
  readonly account_id: string
  /** Null: its log was deleted. */
  readonly log: {
    readonly accountId: string
    /** Of a snapshot: the Sandbox of which it is. Of an image: its own id. */
    readonly snapshotOf: string | null
    readonly workspaceId: string
    readonly vcpus: string
    readonly memoryBytes: string
    readonly volumeBytes: string
    readonly revision: string
    readonly isPosting: boolean
  } | null
  /** Null: nothing was posted yet. */
  readonly meter: {
    readonly workspaceId: string
    readonly snapshotOf: string | null
    readonly milliVcpus: string
    readonly memoryBytes: string
    readonly volumeBytes: string
    readonly revision: string
    readonly at: string
    readonly changedAt: string
    readonly runSince: string | null
    readonly isRunning: boolean
    readonly hasVolume: boolean
    readonly segments: number
    readonly vcpuSum: string
    readonly memorySum: string
    readonly volumeSum: string
    readonly closedAt: string | null
  } | null
}

/** $1: an account, or null. Integers are text, because JSON numbers are not exact. */
export const sandboxesStatement = `
  select coalesce(m.sandbox_id, a.id) as id, coalesce(m.account_id, a.account_id) as account_id,
    case when a.id is not null then jsonb_build_object('accountId', a.account_id, 'workspaceId', coalesce(a.workspace_id, 'images'),
      'snapshotOf', case when a.kind <> 'sandbox' then a.sandbox_id end,
      'vcpus', case when a.kind <> 'sandbox' then '0' else a.input -> 'profile' ->> 'vcpus' end,
      'memoryBytes', case when a.kind <> 'sandbox' then '0' else a.input -> 'profile' ->> 'memoryBytes' end,
      'volumeBytes', case when a.kind <> 'sandbox' then '0' else a.input -> 'profile' ->> 'diskBytes' end, 'revision', a.revision::text,      'isPosting', a.pending @> '[{"type": "meter"}]'::jsonb) end as log,
    case when m.sandbox_id is not null then jsonb_build_object('workspaceId', m.workspace_id, 'snapshotOf', m.snapshot_of, 'milliVcpus', m.milli_vcpus::text,
      'memoryBytes', m.memory_bytes::text, 'volumeBytes', m.volume_bytes::text, 'revision', m.revision::text, 'at', m.at::text,
      'changedAt', m.changed_at::text, 'runSince', m.run_since::text, 'isRunning', m.is_running, 'hasVolume', m.has_volume,
      'segments', m.segments, 'vcpuSum', m.vcpu_sum::text, 'memorySum', m.memory_sum::text, 'volumeSum', m.volume_sum::text,
      'closedAt', m.closed_at::text) end as meter
  from (select * from actors where kind in ('sandbox', 'snapshot', 'image') and account_id <> '' and ($1::text is null or account_id = $1)) a
    full join (select * from meters where $1::text is null or account_id = $1) m on m.sandbox_id = a.id
  order by 1`
