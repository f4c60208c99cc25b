/**
 * The contract's bounds. Bytes, characters and seconds as the name says.
 *
 * @source contract.md "Limits", contract-details.md "Shapes"
 */

/** Workspaces of one account. */
export const workspacesPerAccount = 10

/** Any JSON request body. */
export const jsonBodyMaxBytes = 128 * 1024
/** JSON deeper than this is refused: nothing in the contract nests that far. */
export const jsonDepthMax = 32

/** A file read or written in one request. */
export const fileContentMaxBytes = 8_388_608
export const pathMaxCharacters = 4096
export const cursorMaxCharacters = 4096

export const nameMaxCharacters = 128
export const metadataMaxPairs = 32
export const metadataKeyMaxCharacters = 64
export const metadataValueMaxCharacters = 512

/** Variables that a Sandbox gives to every command. */
export const sandboxEnvMaxPairs = 128
export const sandboxEnvNameMaxCharacters = 256
/** Names and values together, as UTF-8. */
export const sandboxEnvMaxBytes = 64 * 1024

/** Of each part of a Sandbox's lifetime: ten years. */
export const lifetimeMaxSeconds = 315_360_000

/** Between TERM and KILL when one process is ended. */
export const processGraceDefaultSeconds = 2
export const processGraceMaxSeconds = 60

export const idempotencyKeyMaxCharacters = 255
export const requestIdMaxCharacters = 128

/** Lists of the API itself (not of files). */
export const pageMax = 1000
export const pageDefault = 100
/** Listing of files. */
export const filePageMax = 1000
export const filePageDefault = 1000
export const logEntriesMax = 5000
export const logEntriesDefault = 1000
/** At the begin of a stream. */
export const logEntriesFollowedMax = 1000

export const argvMaxItems = 1024
export const envMaxPairs = 1024
/** Each stream of a synchronous command keeps its first bytes. */
export const executeStreamMaxBytes = 1024 * 1024
export const executeTimeoutMaxSeconds = 300
export const executeTimeoutDefaultSeconds = 60
export const operationTimeoutMaxSeconds = 86_400
export const operationWaitMaxSeconds = 30
export const operationOutputChunkMaxBytes = 262_144
export const operationOutputChunkDefaultBytes = 65_536

/** Number.MAX_SAFE_INTEGER: offsets and generations. */
export const offsetMax = 9_007_199_254_740_991

export const analyticsResolutionMinSeconds = 60
export const analyticsResolutionMaxSeconds = 86_400
export const analyticsResolutionDefaultSeconds = 300
export const analyticsSamplesMax = 2000

/** Reports of usage and costs. */
export const reportWindowMaxDays = 400
export const costGroupsMax = 10_000

export const previewLifetimeSeconds = 3600
export const previewsListed = 100
/** Open at the same time, with `alongside`. */
export const previewsPerSandbox = 16
export const serviceAccessPortsMax = 8
export const serviceAccessLifetimeSeconds = 3600
export const serviceAccessClockToleranceSeconds = 60
export const cooperativeGrantSeconds = 30
export const cooperativeKeysMax = 4

/** Sandboxes of one fork. */
export const forkMax = 100
/** How long the snapshot of a fork is kept, where nothing else is asked for. */
export const forkSnapshotSeconds = 86_400
/** Exports and imports of one account that are in progress. */
export const snapshotTransfersPerAccount = 4
/** How long the volume that a rollback replaced is kept as a snapshot. */
export const keptSnapshotSeconds = 86_400
/** Of the checkpoints of a Sandbox: the time between two, and how many stay. */
export const checkpointsMinSeconds = 60
export const checkpointsMaxSeconds = 604_800
export const checkpointsKeepMax = 100
export const checkpointsKeepDefault = 5
/** Operations that the answer of a fork at a revision names. */
export const missingOperationsMax = 100
/** How far back a lineage is followed. */
export const lineageParentsMax = 100

/** Rejected events of each operation. */
export const declinedEventsMax = 100

/** Of a terminal, in characters. */
export const terminalColumnsMax = 1000
export const terminalRowsMax = 1000
export const terminalColumnsDefault = 80
export const terminalRowsDefault = 24
/** Input in one frame. */
export const terminalInputMaxBytes = 64 * 1024
/** A control message of a terminal, in one frame. */
export const terminalControlMaxBytes = 256
/** Terminals that are open in one Sandbox at a time. */
export const terminalsPerSandbox = 16

/** For a stream of events without other events. */
export const heartbeatSeconds = 15

/** Of an image: registry, repository, tag and digest. */
export const imageReferenceMaxCharacters = 512
export const registryUsernameMaxCharacters = 255
export const registryPasswordMaxCharacters = 4096
/** The text of a Dockerfile in a request; one that is a file of the context may be larger. */
export const dockerfileMaxBytes = 64 * 1024
export const buildArgsMaxPairs = 64
/** Names and values together, as UTF-8. */
export const buildArgsMaxBytes = 32 * 1024
export const buildTargetMaxCharacters = 128

/** Of `wait=running`. */
export const runningWaitSeconds = 30
