/** The limits of an account: its own, else those of the settings. */
import { Schema } from "effect"
import { workspacesPerAccount } from "../../schemas/Limits.ts"
import type { Settings } from "../Config.ts"

/** Null: the setting applies. */
export interface OwnLimits {
  readonly workspaces: number | null
  readonly sandboxes: number | null
  /** Sum of the volume sizes of one workspace. */
  readonly workspaceStorageBytes: number | null
}

export interface AccountLimits {
  readonly workspaces: number
  readonly sandboxes: number
  readonly workspaceStorageBytes: number
}

/** Columns of `accounts`. */
export const LimitsRow = Schema.Struct({
  sandboxes_limit: Schema.NullOr(Schema.Int),
  workspaces_limit: Schema.NullOr(Schema.Int),
  workspace_storage_bytes_limit: Schema.NullOr(Schema.BigInt)
})

export type LimitsRow = typeof LimitsRow.Type

export const ownLimitsOf = (row: LimitsRow): OwnLimits => ({
  workspaces: row.workspaces_limit,
  sandboxes: row.sandboxes_limit,
  workspaceStorageBytes: row.workspace_storage_bytes_limit === null ? null : Number(row.workspace_storage_bytes_limit)
})

export const accountLimits = (
  own: OwnLimits,
  settings: Pick<Settings["Service"], "sandboxesPerAccount" | "workspaceStorageBytes">
): AccountLimits => ({
  workspaces: own.workspaces ?? workspacesPerAccount,
  sandboxes: own.sandboxes ?? settings.sandboxesPerAccount,
  workspaceStorageBytes: own.workspaceStorageBytes ?? settings.workspaceStorageBytes
})
