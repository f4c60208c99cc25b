/** What a release of the libraries must agree on: versions in the sources, in the change logs and in the descriptions. */
import { readFileSync } from "node:fs"
import { join } from "node:path"

export interface Versions {
  readonly typescript: { readonly name: string; readonly version: string }
  readonly python: { readonly name: string; readonly version: string }
  /** Of the service's description, which both were made from. */
  readonly description: string
}

const found = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? "none"

const read = (root: string, path: string): string => readFileSync(join(root, "clients", path), "utf8")

export const versionsOf = (root: string): Versions => {
  const { name, version } = JSON.parse(read(root, "typescript/package.json"))
  return {
    typescript: { name, version },
    python: {
      name: found(read(root, "python/pyproject.toml"), /^name = "(.*)"/m),
      version: found(read(root, "python/src/atoll/_version.py"), /__version__ = "(.*)"/)
    },
    description: found(read(root, "typescript/src/generated/schemas.ts"), /descriptionVersion = "(.*)"/)
  }
}

/** The newest heading of a change log, and its text. */
const newest = (changes: string): { readonly version: string; readonly text: string } => {
  const [, section = ""] = changes.split(/^## /m)
  return { version: section.split("\n", 1)[0]!.trim(), text: section }
}

const logFaults = (client: string, changes: string, version: string, description: string): ReadonlyArray<string> => {
  const log = newest(changes)
  if (log.version !== version) {
    return [
      `clients/${client}/CHANGELOG.md begins with ${log.version}, and the package is ${version}: write what changed.`
    ]
  }
  return log.text.includes(`version ${description} of the service's description`)
    ? []
    : [`clients/${client}/CHANGELOG.md does not say that ${version} is of version ${description} of the description.`]
}

/** One sentence for each disagreement. */
export const versionFaults = (root: string): ReadonlyArray<string> => {
  const { typescript, python, description } = versionsOf(root)
  const library = found(read(root, "typescript/src/version.ts"), /libraryVersion = "(.*)"/)
  const described = found(read(root, "python/src/atoll/schemas.py"), /DESCRIPTION_VERSION = "(.*)"/)
  return [
    ...(library === typescript.version
      ? []
      : [`clients/typescript/src/version.ts says ${library}, and its package.json ${typescript.version}.`]),
    ...(described === description
      ? []
      : [
          `The Python library is of version ${described} of the description, and the TypeScript library of ${description}.`
        ]),
    ...logFaults("typescript", read(root, "typescript/CHANGELOG.md"), typescript.version, description),
    ...logFaults("python", read(root, "python/CHANGELOG.md"), python.version, description)
  ]
}
