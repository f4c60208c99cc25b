/**
 * Who may import whom: design.md's table, as data. `npm run check` reads it.
 *
 * A place is a path prefix; a file belongs to the longest one that fits. A file that belongs to none must be given a place here.
 */
export interface Place {
  readonly path: string
  /** Places (by path), besides itself; a place's sub-places are not meant. */
  readonly places: ReadonlyArray<string> | "all"
  /** npm packages; absent means any. `node:` builtins are allowed where `builtins` is not false. */
  readonly packages?: ReadonlyArray<string>
  readonly builtins?: false
}

const config = "src/Config.ts"

/** The rooms of resources, each with the rooms of other resources that it may import. Each builds only on rooms above it. */
const resourceRooms: ReadonlyArray<readonly [room: string, imports: ReadonlyArray<string>]> = [
  ["src/wallet/", []],
  ["src/account/idempotency/", []],
  ["src/account/", ["src/wallet/"]],
  ["src/sandbox/", ["src/wallet/", "src/account/", "src/account/idempotency/"]],
  ["src/snapshot/", ["src/wallet/", "src/account/", "src/account/idempotency/", "src/sandbox/"]],
  ["src/account/workspace/", ["src/account/", "src/account/idempotency/", "src/sandbox/"]],
  ["src/operation/process/", ["src/sandbox/"]],
  ["src/operation/", ["src/account/", "src/account/idempotency/", "src/sandbox/", "src/operation/process/"]],
  ["src/files/", ["src/account/", "src/sandbox/"]],
  [
    "src/image/",
    ["src/wallet/", "src/account/", "src/account/idempotency/", "src/sandbox/", "src/operation/", "src/files/"]
  ],
  ["src/access/gateway/", ["src/sandbox/"]],
  ["src/access/preview/", ["src/account/", "src/sandbox/", "src/access/gateway/"]],
  ["src/access/serviceAccess/", ["src/sandbox/", "src/access/gateway/"]],
  ["src/access/ssh/", ["src/account/", "src/sandbox/", "src/operation/process/", "src/access/gateway/"]],
  ["src/operation/terminal/", ["src/account/", "src/sandbox/", "src/operation/process/", "src/access/gateway/"]],
  ["src/observe/logs/", ["src/sandbox/", "src/operation/"]],
  ["src/observe/analytics/", ["src/sandbox/", "src/operation/"]],
  ["src/observe/events/", ["src/sandbox/"]],
  ["src/observe/retention/", ["src/wallet/", "src/sandbox/"]],
  ["src/console/server/", ["src/wallet/", "src/account/"]]
]

const resources = resourceRooms.map(([room]) => room)

/** Locks that the processes of one host take on a file; knows nothing else. */
const fileLock = "src/platform/fileLock/"

/** The semaphore and the keyed mutex; know nothing of what they guard. */
const concurrency = "src/platform/concurrency/"
/** The same by Effect. */
const effectConcurrency = "src/platform/concurrency/lockByKey.ts"

/** The tar format; knows no file and no name's form. The agent and the TypeScript library use it. */
const tar = "src/platform/tar/"

/** What the spawner program and its user say to each other; knows no command. The agent and the drivers use it. */
const spawner = "src/platform/spawner/"

/** Kinds of settings; knows no setting. */
const setting = "src/platform/setting/"

/** Makes identifiers; knows nothing else. */
const identifier = "src/platform/identifier/"

/** esbuild, for what is bundled at the service's start, and what it made; knows nothing of what it is. */
const bundle = "src/platform/bundle/"

/** Node's compiled code over restarts; knows nothing of what is loaded. */
const compileCache = "src/platform/compileCache/"

/** The programs as a few files; knows only where they begin. */
const quickStart = "src/platform/quickStart/"
const quick = [compileCache, quickStart]

/** Keeps background work going; knows nothing of what it does. */
const worker = "src/platform/worker/"

/** The beginning of the service's stop; knows nothing of what waits for it. */
const shutdown = "src/platform/shutdown/"

/** Metrics that are read where they are asked for; knows none of them. */
const metric = "src/platform/metric/"

/** Spans that are handed over where no fiber goes; knows nothing of what they are about. */
const trace = "src/platform/trace/"

/** The Model Context Protocol; knows nothing of who carries its messages. */
const mcp = "src/api/mcp/"

/** The API's reference as a page; knows nothing of who serves it. */
const reference = "src/api/reference/"

/** The file of logins for registries; knows no image. */
const registryAuth = "src/platform/registryAuth/"

/** Connections between Atoll's own processes; knows nothing of what they carry. */
const peer = "src/peer/"

/** What a data folder says of itself; knows nothing else. */
const dataFolder = "src/platform/dataFolder/"

/** A host's way to its services, and theirs to it. */
const distant = "src/runtime/distant/"

/** The folder of the operator's backups, and the process that writes one. */
const backupFolder = "src/ops/backup/folder/"
const doctorApart = "src/ops/doctor/apart/"

/** What a state says of events: the engine's convention, which knows no machine. */
const stateMeta = "machines/meta.ts"

/** Pages and cursors of the API's lists, and an actor's log as such a list. */
const lists = "src/lists/"

/** What the package `atoll` shows to other repositories. */
const shown = "src/exports/"

const belowResources = [
  "schemas/",
  "machines/",
  "src/engine/",
  lists,
  "src/runtime/",
  "src/store/",
  metric,
  trace,
  worker,
  shutdown,
  effectConcurrency,
  identifier,
  registryAuth,
  config
]

export const importTable: ReadonlyArray<Place> = [
  { path: "schemas/", places: [], packages: ["effect"], builtins: false },
  { path: stateMeta, places: [], packages: [], builtins: false },
  { path: "machines/", places: ["schemas/", stateMeta], packages: ["xstate"], builtins: false },

  /** Machines as data, text and pictures: for the service, for browsers and for the build. */
  { path: "src/statechart/", places: [stateMeta], packages: ["xstate"], builtins: false },
  /** Where everything of a drawing is: for the build, and for programs that draw machines of others. */
  { path: "src/statechart/layout/", places: ["src/statechart/"], packages: ["elkjs"] },

  { path: config, places: [setting] },
  { path: setting, places: [], packages: ["effect"] },
  { path: identifier, places: ["schemas/"] },
  { path: concurrency, places: [], packages: [], builtins: false },
  { path: effectConcurrency, places: [], packages: ["effect"], builtins: false },
  { path: tar, places: [], packages: [], builtins: false },
  { path: fileLock, places: [], packages: [] },
  { path: spawner, places: [], packages: [], builtins: false },
  { path: dataFolder, places: [], packages: [] },
  { path: registryAuth, places: [], packages: [] },
  { path: bundle, places: [], packages: ["esbuild"] },
  { path: compileCache, places: [], packages: [] },
  { path: quickStart, places: [bundle, compileCache], packages: ["esbuild"] },
  { path: worker, places: [metric], packages: ["effect"], builtins: false },
  { path: shutdown, places: [], packages: ["effect"], builtins: false },
  { path: metric, places: [], packages: ["effect"], builtins: false },
  { path: trace, places: [], packages: ["effect"], builtins: false },
  { path: "src/ops/postgres/", places: [dataFolder, fileLock, worker, config] },
  {
    path: "src/store/",
    places: ["src/ops/postgres/", dataFolder, fileLock, metric, trace, worker, config]
  },
  { path: "src/engine/", places: [stateMeta, "src/store/", peer, metric, trace, worker, config] },
  { path: lists, places: ["schemas/", "src/engine/", "src/store/"] },
  /** Explores products of machines: of ours it knows the engine's decision. */
  { path: "src/proofs/explore/", places: ["src/engine/"], packages: ["xstate"], builtins: false },
  { path: "src/proofs/Proved.ts", places: [], packages: ["effect"] },
  /** Checks histories of calls against a specification; knows neither. */
  { path: "src/proofs/linear/", places: [], packages: [], builtins: false },
  { path: peer, places: [worker, config] },

  /** Runs inside a Sandbox. The other end of its wire may use what it says about the wire. */
  { path: "src/agent/", places: [concurrency, tar, spawner], packages: [] },
  /** What the service sees of a host. */
  { path: "src/runtime/", places: ["schemas/", trace, config] },
  { path: "src/runtime/agentClient/", places: ["src/runtime/", "src/agent/", "schemas/", bundle, config] },
  /** What host and service say to each other, and the service's end of it. */
  {
    path: distant,
    places: ["src/runtime/", "src/runtime/agentClient/", "src/agent/", "schemas/", peer, worker, trace, config]
  },
  /** Where a host serves its services. */
  {
    path: "src/host/ingress/",
    places: [
      "src/host/linux/",
      "src/runtime/",
      "src/runtime/agentClient/",
      distant,
      "src/agent/",
      "schemas/",
      dataFolder,
      peer,
      worker,
      config
    ]
  },
  /** Runs on the machine that carries Sandboxes. What both drivers need of Linux stands once, in linux/. */
  { path: "src/host/linux/", places: ["src/runtime/", concurrency, fileLock, spawner, "schemas/", config] },
  /** Images: from a registry to one read-only file system. */
  { path: "src/host/image/", places: ["src/host/linux/", "src/runtime/", concurrency, tar, "schemas/"] },
  { path: "src/host/simulated/", places: ["src/runtime/", "schemas/", config] },
  {
    path: "src/host/namespace/",
    places: [
      "src/host/linux/",
      "src/host/image/",
      "src/runtime/",
      "src/runtime/agentClient/",
      concurrency,
      fileLock,
      "schemas/",
      config,
      worker
    ]
  },
  {
    path: "src/host/qemu/",
    places: [
      "src/host/linux/",
      "src/host/image/",
      "src/runtime/",
      "src/runtime/agentClient/",
      "src/agent/",
      "schemas/",
      concurrency,
      config,
      worker
    ]
  },
  {
    path: "src/host/RuntimeChoice.ts",
    places: ["src/host/namespace/", "src/host/qemu/", "src/host/simulated/", "src/runtime/", "schemas/", config]
  },

  { path: "src/host/HostFolder.ts", places: ["src/host/linux/", dataFolder, fileLock, config] },

  /** Hosts as actors, and which of them gets a Sandbox. */
  { path: "src/fleet/", places: [...belowResources, "src/sandbox/", "src/snapshot/", "src/image/", distant, peer] },

  /** What runs in a browser. Of schemas and machines it takes types, and what is pure. */
  {
    path: "src/console/pages/",
    places: ["schemas/", "machines/", stateMeta, "src/statechart/"],
    packages: ["preact", "@preact/signals", "xstate", "@xterm/xterm", "@xterm/addon-fit", "uplot"],
    builtins: false
  },
  /** The pages as files that a browser can ask for. */
  { path: "src/console/bundle/", places: ["src/statechart/", bundle] },

  ...resourceRooms.map(([path, imports]) => ({ path, places: [...belowResources, ...imports] })),

  /** Tools for models, by the services of the resources. */
  {
    path: mcp,
    places: [...belowResources, ...resources],
    packages: ["effect", "@modelcontextprotocol/server"]
  },
  /** The reference of the API as a page: text made of the OpenAPI document. */
  { path: reference, places: ["schemas/"], packages: ["marked"], builtins: false },
  {
    path: "src/api/http/",
    places: [
      ...belowResources,
      ...resources,
      "src/fleet/",
      mcp,
      reference,
      "src/console/bundle/",
      backupFolder,
      doctorApart
    ]
  },
  {
    path: "src/cli/",
    places: [
      ...belowResources,
      ...resources,
      "src/fleet/",
      "src/app/Down.ts",
      "src/ops/doctor/",
      "src/ops/backup/",
      "src/ops/histories/",
      dataFolder
    ]
  },
  { path: "src/cli/dispatch.ts", places: ["src/cli/", "clients/typescript/src/cli/", ...quick], packages: [] },
  /** What this host has of what Atoll needs. */
  {
    path: "src/ops/doctor/",
    places: [
      "machines/",
      "src/fleet/",
      ...["linux/", "namespace/", "qemu/"].map((room) => `src/host/${room}`),
      "src/store/",
      registryAuth,
      config
    ]
  },
  /** Where the layers meet. */
  { path: "src/app/Atoll.ts", places: "all" },
  { path: "src/app/Service.ts", places: "all" },
  { path: "src/app/FleetService.ts", places: "all" },
  { path: "src/app/OneHostService.ts", places: "all" },
  { path: "src/app/ShutdownReport.ts", places: ["src/runtime/", "src/host/linux/"] },
  { path: "src/app/ServiceProcesses.ts", places: ["src/host/linux/", dataFolder, config] },
  { path: "src/app/thisClaimant.ts", places: ["src/host/linux/", "src/store/"] },
  { path: "src/app/Down.ts", places: "all" },
  { path: "src/ops/backup/", places: "all" },
  /** The logs of a database against the machines of this version. */
  { path: "src/ops/histories/", places: ["machines/", "src/engine/", "src/store/"] },
  { path: doctorApart, places: ["schemas/", "src/ops/doctor/", config] },
  { path: backupFolder, places: ["schemas/", "src/host/linux/", "src/ops/backup/", "src/store/", fileLock, config] },
  { path: "src/app/Traces.ts", places: [trace, config] },
  { path: "src/app/ReadableLog.ts", places: [] },
  { path: "src/app/OutageLines.ts", places: ["src/engine/", "src/store/"] },
  { path: "src/app/memory/", places: [] },
  { path: "src/app/Launch.ts", places: [config, "src/app/ReadableLog.ts", "src/app/Traces.ts"] },
  {
    path: "src/main.ts",
    places: ["src/app/ServiceProgram.ts", "src/app/HostProgram.ts", ...quick],
    packages: [],
    builtins: false
  },
  { path: "src/app/ServiceProgram.ts", places: "all" },
  /** Nothing of the service. */
  {
    path: "src/app/HostProgram.ts",
    places: [
      "src/host/ingress/",
      "src/host/HostFolder.ts",
      "src/host/RuntimeChoice.ts",
      "src/app/memory/",
      "src/runtime/",
      peer,
      "src/app/ShutdownReport.ts",
      "src/app/HostHealth.ts",
      "src/app/Launch.ts",
      "src/app/ServiceProcesses.ts",
      config
    ]
  },
  { path: "src/app/HostHealth.ts", places: ["src/host/ingress/", "src/api/http/", "src/runtime/", worker, config] },

  /** What customers install: it knows the service only by its description. */
  { path: "clients/typescript/src/", places: ["clients/typescript/src/node/"], packages: [], builtins: false },
  /** What of it needs node:…; the rest asks for it only when somebody uses it. */
  { path: "clients/typescript/src/node/", places: ["clients/typescript/src/"], packages: [] },
  /** Runs in Node; the library does not know it. */
  {
    path: "clients/typescript/src/cli/",
    places: ["clients/typescript/src/", "clients/typescript/src/node/"],
    packages: []
  },

  {
    path: shown,
    places: [
      stateMeta,
      "src/engine/",
      "src/store/",
      "src/proofs/explore/",
      "src/proofs/linear/",
      "src/statechart/",
      "src/statechart/layout/"
    ]
  },
  /** Written as in another repository: of ours it knows what the package shows. */
  { path: "examples/", places: [], packages: ["atoll", "effect", "@effect/sql-pg", "xstate"] },

  { path: "test/", places: "all" },
  { path: "bench/", places: "all" },
  { path: "scripts/", places: "all" }
]

/**
 * What developers with machines of their own use, and all that it may reach: nothing here knows a Sandbox, a resource or a driver.
 * The rules follow each import from `entries`, so a row of the table that opens another way is found, too.
 */
export const standAlone = {
  entries: [shown, "src/engine/", "src/proofs/", "examples/"],
  reach: [
    shown,
    "examples/",
    "src/engine/",
    "src/proofs/",
    "src/store/",
    "src/statechart/",
    stateMeta,
    peer,
    "src/ops/postgres/",
    "src/platform/",
    config
  ]
}
