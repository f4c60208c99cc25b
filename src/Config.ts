/**
 * Every setting of Atoll. `npm run docs` makes the table of docs/settings.md from this list, and `Settings` is the decoded result.
 *
 * A name ends in its unit. An invalid value stops the start with the name, the expected form and the default.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { addressRanges, origin, peer, peers } from "./platform/setting/addresses.ts"
import { reachableDataDir, vmCacheDir } from "./platform/setting/defaultFolders.ts"
import { imageSettings } from "./platform/setting/imageSettings.ts"
import {
  file,
  folder,
  integer,
  oneOf,
  optionalFolder,
  type Setting,
  secret,
  secretUrl,
  text
} from "./platform/setting/Setting.ts"
import { sizeSettings } from "./platform/setting/sizeSettings.ts"

const port = { minimum: 0, maximum: 65_535 }

export const settings = {
  port: integer(
    "ATOLL_PORT",
    8080,
    "TCP port of the API, previews, tunnels and terminals; 0 takes any free port.",
    port
  ),
  host: text("ATOLL_HOST", "127.0.0.1", "Address to listen on."),
  publicUrl: origin(
    "ATOLL_PUBLIC_URL",
    "Address at which browsers reach Atoll, such as https://atoll.example.org; used in links to the console. With https the console's cookie is Secure. Default: ATOLL_HOST and ATOLL_PORT, with https if Atoll has a certificate."
  ),
  tlsCertFile: file(
    "ATOLL_TLS_CERT_FILE",
    "Certificate in PEM, followed by its intermediate certificates: Atoll then serves only HTTPS on ATOLL_PORT. Read again when it changes."
  ),
  tlsKeyFile: file("ATOLL_TLS_KEY_FILE", "Its private key in PEM, without a passphrase. Read again when it changes."),
  trustedProxies: addressRanges(
    "ATOLL_TRUSTED_PROXIES",
    "Addresses and CIDR ranges of the proxies in front of Atoll, separated by commas. Their X-Forwarded-For or Forwarded header names the caller in the audit log, the rate limits and the logs; the headers of others are ignored."
  ),
  dataDir: folder(
    "ATOLL_DATA_DIR",
    ".atoll",
    reachableDataDir,
    "Folder of the embedded Postgres, volumes and runtime state. As root in a folder that is closed to other users (such as below /root): /var/lib/atoll/<folder>-<digest>."
  ),
  backupDir: optionalFolder(
    "ATOLL_BACKUP_DIR",
    "Folder of the backups that the operator's page lists and starts; best on another disk. Default: backups in ATOLL_DATA_DIR."
  ),
  lostHost: text(
    "ATOLL_LOST_HOST",
    "none",
    "For one start with a new data folder after the old one is permanently lost: the id from the refused start. Its Sandboxes are then stopped, and their volumes are empty."
  ),
  logLevel: oneOf("ATOLL_LOG_LEVEL", ["debug", "info", "warn", "error"], "info", "The lowest level that is logged."),
  logFormat: oneOf("ATOLL_LOG_FORMAT", ["auto", "readable", "json"], "auto", "auto: readable on terminals, else json."),
  otlpEndpoint: secretUrl(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    ["http:", "https:"],
    "http://127.0.0.1:4318",
    "OpenTelemetry collector for traces by OTLP over HTTP, such as http://127.0.0.1:4318; without it nothing is traced."
  ),
  databaseUrl: secretUrl(
    "DATABASE_URL",
    ["postgres:", "postgresql:"],
    "postgres://user:password@host:5432/database",
    "Postgres to use instead of the embedded server, such as postgres://user:password@host/database."
  ),
  databaseWaitMs: integer(
    "ATOLL_DATABASE_WAIT_MS",
    30_000,
    "How long a start waits for a database that does not answer."
  ),
  databasePatienceMs: integer(
    "ATOLL_DATABASE_PATIENCE_MS",
    3000,
    "How long the database may be silent before waiting requests are answered with 503. /healthz reports it after a second.",
    { minimum: 250, maximum: 600_000 }
  ),
  databaseIdleTransactionMs: integer(
    "ATOLL_DATABASE_IDLE_TRANSACTION_MS",
    10_000,
    "How long a transaction of this process may be idle: then the database rolls it back, so that a frozen process, or a machine without power, does not keep rows locked. Migrations, backups and restores may be idle for longer.",
    { minimum: 1000, maximum: 3_600_000 }
  ),
  databaseConnections: integer(
    "ATOLL_DATABASE_CONNECTIONS",
    10,
    "Maximum connections of one process to the database, without the journal's.",
    { minimum: 1, maximum: 1000 }
  ),
  journalConnections: integer(
    "ATOLL_JOURNAL_CONNECTIONS",
    2,
    "Connections that commit transitions; with two, one's fsync overlaps the other's work.",
    { minimum: 1, maximum: 16 }
  ),
  runtime: oneOf("ATOLL_RUNTIME", ["auto", "namespace", "qemu", "simulated"], "auto", "The driver of Sandboxes."),
  bootstrapApiKey: secret(
    "ATOLL_BOOTSTRAP_API_KEY",
    "This API key (atoll_live_ and 43 random letters and digits) becomes the first account's full-scope key."
  ),
  previewDomain: text("ATOLL_PREVIEW_DOMAIN", "preview.localhost", "Previews are at <previewId>.<this>."),
  previewScheme: oneOf(
    "ATOLL_PREVIEW_SCHEME",
    ["auto", "http", "https"],
    "auto",
    "https: a proxy in front of Atoll ends TLS for the preview names, on port 443. auto: like Atoll itself, on its own port."
  ),
  serviceAccess: oneOf("ATOLL_SERVICE_ACCESS", ["off", "on"], "off", "TCP access to ports of Sandboxes."),
  cooperative: oneOf("ATOLL_COOPERATIVE", ["off", "on"], "off", "SSH connections to Sandboxes."),
  sshPort: integer("ATOLL_SSH_PORT", 2222, "TCP port of the SSH gateway; 0 takes any free port.", port),
  sshHost: text(
    "ATOLL_SSH_HOST",
    "127.0.0.1",
    "Address on which the SSH gateway listens and which clients get; for 0.0.0.0 and :: they get the host of ATOLL_PUBLIC_URL, or 127.0.0.1."
  ),
  connectionsPerSandbox: integer(
    "ATOLL_CONNECTIONS_PER_SANDBOX",
    256,
    "Open requests, tunnels, terminals and SSH channels into one Sandbox, over all processes of a cluster.",
    { minimum: 1, maximum: 100_000 }
  ),
  connectionsPerAccount: integer("ATOLL_CONNECTIONS_PER_ACCOUNT", 1024, "The same for all Sandboxes of an account.", {
    minimum: 1,
    maximum: 1_000_000
  }),
  streamsPerAccount: integer(
    "ATOLL_STREAMS_PER_ACCOUNT",
    1024,
    "Open streams of events and of output, and terminals, of one account, over all processes of a cluster.",
    { minimum: 1, maximum: 1_000_000 }
  ),
  sandboxesPerAccount: integer("ATOLL_SANDBOXES_PER_ACCOUNT", 20, "Sandboxes of one account, stopped ones included."),
  snapshotsPerAccount: integer("ATOLL_SNAPSHOTS_PER_ACCOUNT", 100, "Snapshots of one account, failed ones included."),
  ...imageSettings,
  imagesPerAccount: integer("ATOLL_IMAGES_PER_ACCOUNT", 20, "Images of one account, failed ones included."),
  creditGraceSeconds: integer(
    "ATOLL_CREDIT_GRACE_SECONDS",
    60,
    "How long the Sandboxes of a prepaid account without credit may run before they are stopped; their volumes are kept.",
    { minimum: 0, maximum: 30 * 86_400 }
  ),
  workspaceStorageBytes: integer(
    "ATOLL_WORKSPACE_STORAGE_BYTES",
    100 * 1024 ** 3,
    "Sum of the volume sizes of one workspace, and of the bytes that its snapshots occupy."
  ),
  ...sizeSettings,
  sandboxProcesses: integer("ATOLL_SANDBOX_PROCESSES", 1024, "Processes and threads of one Sandbox.", {
    minimum: 64,
    maximum: 4_194_304
  }),
  parallelStarts: integer("ATOLL_PARALLEL_STARTS", 4, "Sandboxes that boot concurrently; more wait.", {
    minimum: 1,
    maximum: 1000
  }),
  vmDir: folder(
    "ATOLL_VM_DIR",
    "/var/cache/atoll/vm",
    vmCacheDir,
    "Folder of the VM runtime's images and templates, shared by every Atoll of this host. Without root: atoll/vm in the user's cache."
  ),
  vmMemoryBytes: integer(
    "ATOLL_VM_MEMORY_BYTES",
    0,
    "Memory that all virtual machines together may have; 0: 85 % of the host's."
  ),
  diskReserveBytes: integer(
    "ATOLL_DISK_RESERVE_BYTES",
    1024 ** 3,
    "Disk space kept free for the host and its database when every volume is full; a Sandbox that would need it is refused."
  ),
  volumePool: oneOf("ATOLL_VOLUME_POOL", ["auto", "off"], "auto", "XFS for the volumes of a new data folder on ext4."),
  spares: integer(
    "ATOLL_SPARES",
    2,
    "Namespace Sandboxes kept booted for the next Sandbox: so many with network, and so many without. Each takes some 13 MiB of memory; they are given up when a Sandbox needs their room. 0: none.",
    { minimum: 0, maximum: 64 }
  ),
  sparesMax: integer(
    "ATOLL_SPARES_MAX",
    10,
    "As ATOLL_SPARES, where many are created: as many are kept as were created in the last ten minutes, up to this number. No effect below ATOLL_SPARES.",
    { minimum: 0, maximum: 64 }
  ),
  vmSpares: integer(
    "ATOLL_VM_SPARES",
    1,
    "Virtual machines kept started and paused for the next Sandbox: so many with network, and so many without. They are given up when a Sandbox needs their memory or disk.",
    { minimum: 0, maximum: 16 }
  ),
  vmAnswerTimeoutMs: integer(
    "ATOLL_VM_ANSWER_TIMEOUT_MS",
    30_000,
    "A virtual machine whose QEMU is silent for so long is ended.",
    { minimum: 100, maximum: 3_600_000 }
  ),
  vmUidFirst: integer(
    "ATOLL_VM_UID_FIRST",
    210_000,
    "As root, each virtual machine runs as a separate user; the first uid.",
    {
      minimum: 1000,
      maximum: 2 ** 31
    }
  ),
  reconcileIntervalMs: integer(
    "ATOLL_RECONCILE_INTERVAL_MS",
    60_000,
    "How often the host's machines are compared with the Sandboxes."
  ),
  sleepAfterSeconds: integer(
    "ATOLL_SLEEP_AFTER_SECONDS",
    0,
    "A virtual machine without a command, operation, file call or connection for so long is frozen to disk, and the next one wakes it; its background processes pause meanwhile. 0: never.",
    { minimum: 0, maximum: 30 * 86_400 }
  ),
  bootTimeoutMs: integer("ATOLL_BOOT_TIMEOUT_MS", 60_000, "Time limit of a boot, from its turn on."),
  operationsRunning: integer(
    "ATOLL_OPERATIONS_RUNNING",
    192,
    "Operations that one Sandbox runs concurrently; more wait in order of arrival. With executes, terminals and SSH it runs 256 commands in all.",
    { minimum: 1, maximum: 224 }
  ),
  operationsQueued: integer(
    "ATOLL_OPERATIONS_QUEUED",
    1000,
    "Operations of one Sandbox that may wait; more are refused with 429.",
    { minimum: 1, maximum: 10_000 }
  ),
  outputRetentionBytes: integer(
    "ATOLL_OUTPUT_RETENTION_BYTES",
    16 * 1024 ** 2,
    "Bytes of each stream of an operation that are kept, counted from its end."
  ),
  outputBytesPerSecond: integer(
    "ATOLL_OUTPUT_BYTES_PER_SECOND",
    4 * 1024 ** 2,
    "Long-term rate at which one process stores output of one Sandbox; above it the writing commands are slowed down.",
    { minimum: 1024, maximum: 1024 ** 4 }
  ),
  outputBurstBytes: integer(
    "ATOLL_OUTPUT_BURST_BYTES",
    256 * 1024 ** 2,
    "Output that a Sandbox may write at full speed before that limit applies, after a time without output."
  ),
  telemetryIntervalMs: integer(
    "ATOLL_TELEMETRY_INTERVAL_MS",
    15_000,
    "Interval of measurements of each running Sandbox."
  ),
  analyticsRequestsPerMinute: integer(
    "ATOLL_ANALYTICS_REQUESTS_PER_MINUTE",
    60,
    "Analytics requests of one account in each minute."
  ),
  retentionDays: integer(
    "ATOLL_RETENTION_DAYS",
    7,
    "Days for which logs, telemetry and deleted Sandboxes with their finished operations are kept."
  ),
  endedRetentionDays: integer(
    "ATOLL_ENDED_RETENTION_DAYS",
    30,
    "Days for which finished operations, closed previews and ended accesses and grants of an existing Sandbox are kept, with their transitions and Idempotency-Keys.",
    { minimum: 1, maximum: 36_500 }
  ),
  auditRetentionDays: integer("ATOLL_AUDIT_RETENTION_DAYS", 90, "Days for which the API audit log is kept."),
  logBytesPerSandbox: integer(
    "ATOLL_LOG_BYTES_PER_SANDBOX",
    256 * 1024 ** 2,
    "Disk space for the output of one Sandbox, including the database's overhead; above it the oldest output is deleted."
  ),
  pruneIntervalMs: integer("ATOLL_PRUNE_INTERVAL_MS", 60_000, "How often data past its retention is deleted."),
  role: oneOf(
    "ATOLL_ROLE",
    ["all", "service", "host"],
    "all",
    "Role of this process. all: everything; service: the API and the actors, with Sandboxes on hosts that join it; host: carries Sandboxes for services."
  ),
  fleetHost: text(
    "ATOLL_FLEET_HOST",
    "127.0.0.1",
    "Address on which a service listens for hosts, and a host for services."
  ),
  fleetPort: integer("ATOLL_FLEET_PORT", 7070, "TCP port for that; 0 takes any free port.", port),
  fleetAddress: peer(
    "ATOLL_FLEET_ADDRESS",
    "Address at which services reach this host, as name:port. Default: ATOLL_FLEET_HOST and ATOLL_FLEET_PORT."
  ),
  fleetJoin: peers(
    "ATOLL_FLEET_JOIN",
    "For a host: the services, as name:port separated by commas; it joins the first that answers. May be a load balancer."
  ),
  fleetSecretFile: file(
    "ATOLL_FLEET_SECRET_FILE",
    "File with a secret of at least 32 characters, the same for all services and hosts of a fleet; read again when it changes. Several lines: all are accepted, the first is used."
  ),
  fleetCertFile: file(
    "ATOLL_FLEET_CERT_FILE",
    "Instead of a secret: this process's certificate in PEM, for the name atoll-service or atoll-host. Read again when it changes, like the next two."
  ),
  fleetKeyFile: file("ATOLL_FLEET_KEY_FILE", "Its private key in PEM."),
  fleetCaFile: file("ATOLL_FLEET_CA_FILE", "The certificates in PEM that sign the fleet's."),
  fleetRevokedFile: file(
    "ATOLL_FLEET_REVOKED_FILE",
    "Revoked certificates of the fleet: their SHA-256 fingerprints, one a line. Read again when it changes; open connections with a revoked certificate are closed."
  ),
  hostVcpus: integer(
    "ATOLL_HOST_VCPUS",
    0,
    "Total virtual CPUs of this host's Sandboxes; 0: eight for each processor.",
    { minimum: 0, maximum: 1_000_000 }
  ),
  hostMemoryBytes: integer(
    "ATOLL_HOST_MEMORY_BYTES",
    0,
    "Total memory of this host's Sandboxes; 0: 85 % of the host's."
  ),
  hostLeaseMs: integer(
    "ATOLL_HOST_LEASE_MS",
    10_000,
    "How long a host may be silent before it is suspect and gets no new Sandboxes.",
    { minimum: 1000, maximum: 600_000 }
  ),
  hostLostAfterMs: integer(
    "ATOLL_HOST_LOST_AFTER_MS",
    60_000,
    "How long a host may be suspect before it is lost and its Sandboxes count as stopped.",
    { minimum: 1000, maximum: 86_400_000 }
  ),
  placement: oneOf(
    "ATOLL_PLACEMENT",
    ["spread", "pack"],
    "spread",
    "Which host gets a new Sandbox: the emptiest (spread), or the fullest with enough room (pack)."
  ),
  fleetRuntime: oneOf(
    "ATOLL_FLEET_RUNTIME",
    ["any", "vm", "namespace"],
    "any",
    "The kind of Sandboxes in a fleet if a request names none."
  ),
  clusterHost: text(
    "ATOLL_CLUSTER_HOST",
    "127.0.0.1",
    "Address at which the other processes of a cluster reach this one."
  ),
  clusterPort: integer(
    "ATOLL_CLUSTER_PORT",
    0,
    "TCP port for actor messages between processes that share one database; 0: this process is alone."
  ),
  clusterLeaseMs: integer(
    "ATOLL_CLUSTER_LEASE_MS",
    4000,
    "How long a process of a cluster owns its actors without renewal. The actors of a dead or frozen process go to others after that time, and at most a second.",
    { minimum: 1000, maximum: 600_000 }
  ),
  drainMs: integer(
    "ATOLL_DRAIN_MS",
    15_000,
    "How long a stopping process of a cluster continues running requests, such as executes and transfers; the rest is cut then. A supervisor must allow 15 s more. A single process cuts them after a second.",
    { minimum: 1000, maximum: 3_600_000 }
  )
} satisfies Record<string, Setting<unknown>>

export type SettingsShape = {
  readonly [K in keyof typeof settings]: (typeof settings)[K] extends Setting<infer A> ? A : never
}

/** Some settings are invalid. `message` has a sentence for each, without any value: a value may be a secret. */
export class SettingsUnusable extends Schema.TaggedError<SettingsUnusable>()("SettingsUnusable", {
  message: Schema.String
}) {}

const decode = ([name, setting]: readonly [string, Setting<unknown>]) =>
  setting.config.pipe(
    Effect.map((value) => [name, value] as const),
    Effect.mapError(() => `${setting.env} must be ${setting.shape} (default: ${setting.default || "none"}).`)
  )

export class Settings extends Context.Service<Settings, SettingsShape>()("atoll/Settings") {
  static readonly layer = Layer.effect(
    Settings,
    Effect.gen(function* () {
      const [values, faults] = yield* Effect.partition(Object.entries<Setting<unknown>>(settings), decode)
      if (faults.length > 0) return yield* new SettingsUnusable({ message: faults.join(" ") })
      return Object.fromEntries(values) as SettingsShape
    })
  )
}
