/**
 * The rule of file names: in one room, two files have two names. Names that differ in case or suffix only are the same
 * name.
 * Across rooms a name may return: `schemas/Sandbox.ts` describes what `machines/sandbox.ts` decides and
 * `src/console/pages/Sandbox.tsx` shows.
 * Tests are exempt: a test is named after what it tests.
 */
import { globSync } from "node:fs"
import { basename } from "node:path"

/** A file belongs to the longest path that fits. */
const rooms = [
  "schemas/",
  "schemas/contexts/",
  "machines/",
  "src/",
  "src/console/pages/",
  "src/cli/",
  "clients/typescript/src/",
  "clients/typescript/src/cli/",
  "examples/lease/",
  "bench/",
  "scripts/",
  "scripts/clients/python/",
  "scripts/imports/",
  "scripts/rules/table/"
]

/** The reason by name, in lower case. */
export const sharedNames: Readonly<Record<string, string>> = {
  check: "each check of `npm run check` is the program of its folder",
  list: "a file a command: `atoll sandbox list`, `atoll operation list`",
  main: "where a program begins: the service, the command line, the agent",
  probe: "a part of each driver of `src/host/`",
  rules: "what each check of `npm run check` checks",
  show: "a file a command: `atoll sandbox show`, `atoll operation show`",
  volume: "a part of each driver of `src/host/`"
}

const roomOf = (path: string): string =>
  rooms.filter((room) => path.startsWith(room)).reduce((long, room) => (room.length > long.length ? room : long), "")

/** One sentence for each name that returns in a room without a reason, or has a reason and does not return. */
export const fileNameFaults = (
  folder: string,
  shared: Readonly<Record<string, string>> = sharedNames
): ReadonlyArray<string> => {
  const paths = new Set(rooms.flatMap((room) => globSync(`${room}**/*.{ts,tsx,mjs}`, { cwd: folder })).toSorted())
  const named = Map.groupBy(paths, (path) => `${roomOf(path)} ${basename(path).replace(/\..*$/, "").toLowerCase()}`)
  const twice = [...named].filter(([, paths]) => paths.length > 1)
  const returning = new Set(twice.map(([key]) => key.split(" ")[1]!))
  return [
    ...twice
      .filter(([key]) => !(key.split(" ")[1]! in shared))
      .map(([, paths]) => `these files have one name: ${paths.join(", ")}. Give each another name.`),
    ...Object.keys(shared)
      .filter((name) => !returning.has(name))
      .map((name) => `no two files of a room are named ${name}: take it out of scripts/fileNames/rules.ts`)
  ]
}
