export { Atoll, type AtollOptions } from "./Atoll.ts"
export type { FileContent } from "./content.ts"
export type { DirectoryOptions, DirectoryProgress, DirectoryTransfer, DownloadOptions } from "./DirectoryOptions.ts"
export {
  AtollError,
  ConnectionError,
  ConnectionLost,
  type ErrorCode,
  type Outcome,
  UnreadableAnswer,
  WaitTimeout
} from "./errors.ts"
export type { FollowEventsOptions, TransitionEvent } from "./events.ts"
export type { Files, ReadOptions, WriteOptions } from "./Files.ts"
export type * from "./generated/schemas.ts"
export type {
  BuildImageOptions,
  Image as ImageHandle,
  Images,
  ListImagesOptions,
  PullImageOptions,
  UntilPulled,
  UploadImageOptions
} from "./Images.ts"
export type { Forward, ForwardOptions } from "./node/Forward.ts"
export type { PreviewSocketOptions } from "./node/previewRequest.ts"
export type { TunnelStream } from "./node/TunnelStream.ts"
export type { FollowOptions, Operation as RunningOperation, WaitOptions } from "./Operation.ts"
export type { OutputChunk, OutputFrom } from "./Output.ts"
export type { PreviewSocket } from "./PreviewSocket.ts"
export type { OpenPreviewOptions, Preview as OpenPreview, Previews } from "./Previews.ts"
export type { RunOptions, RunResult, StartOptions } from "./run.ts"
export type { Fork, ForkOptions, RollbackOptions, Sandbox as SandboxHandle, UntilRunning } from "./Sandbox.ts"
export type { CreateSandboxOptions, ListSandboxesOptions, Sandboxes } from "./Sandboxes.ts"
export type {
  ImportOptions,
  ListSnapshotsOptions,
  Snapshot as SnapshotHandle,
  SnapshotOptions,
  Snapshots,
  UntilReady
} from "./Snapshots.ts"
export type { Terminal, TerminalExit, TerminalOptions, TerminalSize } from "./Terminal.ts"
export type { Usage as UsageReports, Window } from "./Usage.ts"
export type { Waiting } from "./Waiting.ts"
export type { Workspaces } from "./Workspaces.ts"
