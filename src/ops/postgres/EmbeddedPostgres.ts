/**
 * A Postgres that Atoll brings along: created at the first start, adopted at every later one, shared by all processes of a data folder, stopped by
 * the last of them. It survives `kill -9` of Atoll, and is started again if it dies itself.
 *
 * @source lab.md "Embedded Postgres"
 */
import { rmdir } from "node:fs/promises"
import { join, resolve } from "node:path"
import { Context, Effect, Layer } from "effect"
import { Settings } from "../../Config.ts"
import { FileLock } from "../../platform/fileLock/FileLock.ts"
import { vitalWorker } from "../../platform/worker/Worker.ts"
import { type Binaries, findBinaries } from "./Binaries.ts"
import { dataFolder, prepareCluster, prepareHome, prepareSocketFolder, socketFile } from "./Cluster.ts"
import { folderFault, PostgresUnusable } from "./PostgresUnusable.ts"
import { dataPath, ensureRunning, type Postmaster, runs, stopServer } from "./Postmaster.ts"
import { type ServerUser, serverUser } from "./ServerUser.ts"

/** Another process may be making, recovering or stopping the cluster. */
const lockWaitSeconds = 150
/** The polling interval where another process started the server; the end of an own child is an event. */
const watchIntervalMs = 250
const thoroughEveryLooks = 20
const restartPauseMs = 2_000

export interface EmbeddedPostgresOptions {
  /** Folder of the cluster, its socket and its log. */
  readonly home: string
  /** False only for tests: a crash of the machine may lose the data. */
  readonly durable: boolean
}

const withLock = async <A>(home: string, body: () => Promise<A>): Promise<A> => {
  const lock = await FileLock.open(join(home, "lock")).catch((cause: unknown) =>
    Promise.reject(folderFault(home, cause))
  )
  try {
    if (!(await lock.exclusive(lockWaitSeconds))) {
      throw new PostgresUnusable({
        message: `Another Atoll has been starting or stopping the database in ${home} for ${lockWaitSeconds} s. Look at its log, or end it.`
      })
    }
    return await body()
  } finally {
    await lock.close()
  }
}

/** One process's use of the server of a home folder. */
class Use {
  readonly home: string
  readonly durable: boolean
  readonly #user: ServerUser
  readonly #binaries: Binaries
  readonly #users: FileLock
  readonly #ownSocketFolder: string
  #postmaster: Postmaster
  #data: string | null = null
  #looks = 0

  private constructor(
    options: EmbeddedPostgresOptions,
    user: ServerUser,
    binaries: Binaries,
    users: FileLock,
    ownSocketFolder: string,
    postmaster: Postmaster
  ) {
    this.home = options.home
    this.durable = options.durable
    this.#user = user
    this.#binaries = binaries
    this.#users = users
    this.#ownSocketFolder = ownSocketFolder
    this.#postmaster = postmaster
  }

  static async begin(options: EmbeddedPostgresOptions): Promise<Use> {
    const { home, durable } = options
    const user = await serverUser(dataFolder(home))
    await prepareHome(home, user)
    return withLock(home, async () => {
      const users = await FileLock.open(join(home, "users"))
      try {
        await users.shared(lockWaitSeconds)
        const binaries = await findBinaries(home, user)
        await prepareCluster(home, binaries, user)
        const socketFolder = await prepareSocketFolder(home, user)
        const postmaster = await ensureRunning(home, socketFolder, binaries, user, durable)
        return new Use(options, user, binaries, users, socketFolder, postmaster)
      } catch (cause) {
        await users.close()
        throw cause instanceof PostgresUnusable ? cause : folderFault(home, cause)
      }
    })
  }

  get pid(): number {
    return this.#postmaster.pid
  }

  get socketFolder(): string {
    return this.#postmaster.socketFolder
  }

  /** Resolves when the server should be checked. */
  get pause(): Effect.Effect<void> {
    const { ended } = this.#postmaster
    return ended === null ? Effect.sleep(watchIntervalMs) : Effect.promise(() => ended)
  }

  /** Starts the server again if it is gone; true when it had to. */
  async mend(): Promise<boolean> {
    this.#data ??= await dataPath(this.home)
    // Mostly one system call. Whether the pid is still the same process needs reads from /proc, so that is checked only every few passes.
    if (this.#looks++ % thoroughEveryLooks !== 0 && mayRun(this.#postmaster.pid)) return false
    if (runs(this.#postmaster.pid, this.#data)) {
      // This process's child has ended, but another process's server has its pid. That server's end gives no event.
      this.#postmaster = { ...this.#postmaster, ended: null }
      return false
    }
    this.#postmaster = await withLock(this.home, () =>
      ensureRunning(this.home, this.#postmaster.socketFolder, this.#binaries, this.#user, this.durable)
    )
    return true
  }

  /** Stops the server, unless other processes use it. */
  async end(): Promise<void> {
    await withLock(this.home, async () => {
      try {
        if (await this.#users.exclusive(0)) {
          await stopServer(this.home)
          // Created by this process, and empty now. A server that was started by hand may have had its socket elsewhere.
          await rmdir(this.#ownSocketFolder).catch(() => {})
        }
      } finally {
        await this.#users.close()
      }
    })
  }
}

const mayRun = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "EPERM"
  }
}

const unusable = (cause: unknown): PostgresUnusable =>
  cause instanceof PostgresUnusable
    ? cause
    : new PostgresUnusable({ message: `The embedded Postgres cannot be used: ${String(cause)}.` })

export class EmbeddedPostgres extends Context.Service<
  EmbeddedPostgres,
  {
    /** The folder that holds the socket `.s.PGSQL.5432`. */
    readonly socketFolder: string
    /** The socket itself. */
    readonly socketPath: string
    /** A superuser; the socket's folder is private, so there is no password. */
    readonly username: "postgres"
    /** Process id of the server now. */
    readonly pid: Effect.Effect<number>
  }
>()("atoll/ops/postgres/EmbeddedPostgres") {
  /** In `<ATOLL_DATA_DIR>/postgres`. */
  static readonly layer = Layer.unwrap(
    Effect.map(Settings, (settings) =>
      EmbeddedPostgres.at({ home: join(resolve(settings.dataDir), "postgres"), durable: true })
    )
  )

  static at(options: EmbeddedPostgresOptions): Layer.Layer<EmbeddedPostgres, PostgresUnusable> {
    return Layer.effect(
      EmbeddedPostgres,
      Effect.gen(function* () {
        const use = yield* Effect.acquireRelease(
          Effect.tryPromise({ try: () => Use.begin(options), catch: unusable }),
          (use) =>
            Effect.tryPromise({ try: () => use.end(), catch: unusable }).pipe(
              Effect.catch((fault) => Effect.logWarning(fault.message))
            )
        )
        yield* vitalWorker("embedded postgres", watch(use))
        return {
          socketFolder: use.socketFolder,
          socketPath: socketFile(use.socketFolder),
          username: "postgres",
          pid: Effect.sync(() => use.pid)
        }
      })
    )
  }
}

const watch = (use: Use): Effect.Effect<never> =>
  Effect.suspend(() => use.pause).pipe(
    Effect.andThen(
      Effect.tryPromise({ try: () => use.mend(), catch: unusable }).pipe(
        Effect.flatMap((mended) =>
          mended ? Effect.logWarning("The embedded Postgres had ended unexpectedly; it runs again.") : Effect.void
        ),
        Effect.catch((fault) => Effect.andThen(Effect.logError(fault.message), Effect.sleep(restartPauseMs))),
        Effect.uninterruptible
      )
    ),
    Effect.forever
  )
