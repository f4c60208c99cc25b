/**
 * The service for commands and operations of an account's Sandboxes. The HTTP handlers call it; it knows no HTTP.
 *
 * `exhaustedAt` is when the account's credit ends (epoch milliseconds); null: no end is planned.
 * A Sandbox or operation of another account is NOT_FOUND; a malformed cursor is INVALID_REQUEST with the path `["cursor"]`.
 *
 * @source contract.md "Commands and operations", contract-details.md "Shapes", "Fine print"
 */
import { Context, type Effect } from "effect"
import type {
  CreditExhausted,
  ExecutionTimeout,
  IdempotencyConflict,
  InvalidRequest,
  NotFound,
  RateLimited,
  SandboxUnavailable,
  UnsupportedByRuntime
} from "../../schemas/Errors.ts"
import type { ExecuteRequest, ExecutionResult } from "../../schemas/Execute.ts"
import type {
  Operation,
  OperationList,
  OutputStream,
  StartOperationRequest,
  WaitOperationRequest
} from "../../schemas/Operation.ts"
import type { DeclinedEventList, TransitionList } from "../../schemas/Transition.ts"
import type { Page } from "../sandbox/Sandboxes.ts"
import type { OutputOffsets, OutputReading } from "./OutputReading.ts"
import type { OutputRange } from "./operationOutput.ts"

type Unreachable = NotFound | UnsupportedByRuntime | SandboxUnavailable

export class Operations extends Context.Service<
  Operations,
  {
    /** An interruption (the caller disconnected) ends the process tree. */
    readonly execute: (
      accountId: string,
      sandboxId: string,
      request: ExecuteRequest,
      options: { readonly requestId: string; readonly exhaustedAt: number | null }
    ) => Effect.Effect<ExecutionResult, Unreachable | CreditExhausted | ExecutionTimeout | InvalidRequest>
    /** `fingerprint` is the SHA-256 of method, path and canonical JSON body. */
    readonly start: (
      accountId: string,
      sandboxId: string,
      options: {
        readonly requestId: string
        readonly exhaustedAt: number | null
        readonly idempotencyKey: string
        readonly fingerprint: string
        readonly request: StartOperationRequest
      }
    ) => Effect.Effect<Operation, Unreachable | CreditExhausted | IdempotencyConflict | InvalidRequest | RateLimited>
    readonly get: (accountId: string, sandboxId: string, operationId: string) => Effect.Effect<Operation, Unreachable>
    readonly list: (
      accountId: string,
      sandboxId: string,
      page: Page
    ) => Effect.Effect<OperationList, Unreachable | InvalidRequest>
    readonly output: (
      accountId: string,
      sandboxId: string,
      operationId: string,
      range: { readonly stream: OutputStream; readonly offset: number; readonly limit: number }
    ) => Effect.Effect<OutputRange, Unreachable>
    /** The stored output from these offsets on, and finally the operation. Close it when it is no longer read. */
    readonly follow: (
      accountId: string,
      sandboxId: string,
      operationId: string,
      from: OutputOffsets
    ) => Effect.Effect<OutputReading, Unreachable>
    /** Ends early when the caller disconnects. */
    readonly wait: (
      accountId: string,
      sandboxId: string,
      operationId: string,
      request: WaitOperationRequest
    ) => Effect.Effect<Operation, Unreachable>
    readonly cancel: (
      accountId: string,
      sandboxId: string,
      operationId: string,
      options: { readonly requestId: string }
    ) => Effect.Effect<Operation, Unreachable>
    readonly transitions: (
      accountId: string,
      sandboxId: string,
      operationId: string,
      page: Page
    ) => Effect.Effect<TransitionList, Unreachable | InvalidRequest>
    readonly declined: (
      accountId: string,
      sandboxId: string,
      operationId: string
    ) => Effect.Effect<DeclinedEventList, Unreachable>
  }
>()("atoll/operation/Operations") {}
