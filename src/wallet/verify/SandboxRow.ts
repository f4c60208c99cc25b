/** A Sandbox's log and its meter, side by side. */

export interface SandboxRow {
  readonly id: string
  readonly account_id: string
  /** Null: its log was deleted. */
  readonly log: {
    readonly accountId: string
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
    case when a.id is not null then jsonb_build_object('accountId', a.account_id, 'workspaceId', a.workspace_id,
      'vcpus', a.input -> 'profile' ->> 'vcpus', 'memoryBytes', a.input -> 'profile' ->> 'memoryBytes',
      'volumeBytes', a.input -> 'profile' ->> 'diskBytes', 'revision', a.revision::text,      'isPosting', a.pending @> '[{"type": "meter"}]'::jsonb) end as log,
    case when m.sandbox_id is not null then jsonb_build_object('workspaceId', m.workspace_id, 'milliVcpus', m.milli_vcpus::text,
      'memoryBytes', m.memory_bytes::text, 'volumeBytes', m.volume_bytes::text, 'revision', m.revision::text, 'at', m.at::text,
      'changedAt', m.changed_at::text, 'runSince', m.run_since::text, 'isRunning', m.is_running, 'hasVolume', m.has_volume,
      'segments', m.segments, 'vcpuSum', m.vcpu_sum::text, 'memorySum', m.memory_sum::text, 'volumeSum', m.volume_sum::text,
      'closedAt', m.closed_at::text) end as meter
  from (select * from actors where kind = 'sandbox' and ($1::text is null or account_id = $1)) a
    full join (select * from meters where $1::text is null or account_id = $1) m on m.sandbox_id = a.id
  order by 1`
