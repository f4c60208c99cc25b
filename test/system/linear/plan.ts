/** What a client does next, by chance. */

import { commandOf, type Does, type DoesType } from "../../proofs/linear/calls.ts"
import type { Life } from "./Life.ts"

export type Random = () => number

/** The same numbers for the same seed. */
export const randomOf = (seed: number): Random => {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    return state / 2 ** 32
  }
}

export const anyOf = <A>(random: Random, all: ReadonlyArray<A>): A => all[Math.floor(random() * all.length)]!

const weights: Readonly<Record<DoesType, number>> = {
  create: 3,
  get: 14,
  list: 4,
  log: 4,
  start: 8,
  stop: 2,
  delete: 0,
  patch: 12,
  begin: 8,
  look: 6,
  wait: 3,
  cancel: 4,
  output: 8,
  follow: 4,
  commands: 3,
  write: 8,
  edit: 10,
  read: 10,
  archived: 6,
  execute: 6,
  remove: 2,
  listen: 0,
  told: 6,
  open: 5,
  lookUp: 3,
  previews: 3,
  visit: 8,
  close: 3,
  closeAll: 1,
  snap: 6,
  snapGet: 8,
  snapPatch: 5,
  snapDelete: 2,
  child: 4,
  fork: 3,
  childRead: 10,
  rollback: 4
}
const needNetwork: ReadonlyArray<DoesType> = ["lookUp", "previews", "visit", "close", "closeAll"]
const choices = (types: ReadonlyArray<DoesType>) => types.flatMap((type) => Array<DoesType>(weights[type]).fill(type))
const ofNetwork = choices(Object.keys(weights) as ReadonlyArray<DoesType>)
const withoutNetwork = ofNetwork.filter((type) => !needNetwork.includes(type))

export const files = ["a", "b"]
const startKeys = ["s1", "s2"]
const exits = [0, 1, 7]
const ports = [8000, 8001]
/** Of one life: the search has to keep what each may have in it. */
const snapshotsMax = 3
const childrenMax = 3
const rollbacksMax = 2
const forkMax = 3

const newCommand = (random: Random, place: number) =>
  commandOf(random() < 0.3 ? `${place}-hangs` : `${place}-exits-${anyOf(random, exits)}`)

const createOf = ({ key, hasNetwork }: Life) => ({ sandbox: key, type: "create", name: key, hasNetwork }) as const

/**
 * @param isEnding It shall be deleted soon.
 * @param more Calls that are made more often than all together.
 */
export const nextOf = (random: Random, life: Life, isEnding: boolean, more: ReadonlyArray<DoesType> = []): Does => {
  const at = { sandbox: life.key }
  const create = createOf(life)
  if (life.id === null) return random() < 0.7 ? create : { ...at, type: "list" }
  const usual = life.hasNetwork ? ofNetwork : withoutNetwork
  const type = isEnding && random() < 0.1 ? "delete" : anyOf(random, more.length > 0 && random() < 0.7 ? more : usual)
  switch (type) {
    case "create":
      return create
    case "start":
      return { ...at, type, key: random() < 0.4 ? anyOf(random, startKeys) : null }
    case "patch":
      return random() < 0.3
        ? { ...at, type, name: random() < 0.2 ? null : life.newName() }
        : { ...at, type, label: life.newName() }
    case "begin":
      // At times with a key that another client uses, or used before.
      return { ...at, type, command: commandAgain(random, life) ?? newCommand(random, life.history.length) }
    case "look":
    case "wait":
    case "cancel": {
      const by = anyOf(random, [...life.commands.keys()])
      return by === undefined ? { ...at, type: "get" } : { ...at, type, command: commandOf(by) }
    }
    case "output":
    case "follow": {
      const by = anyOf(random, [...life.commands.keys()])
      if (by === undefined) return { ...at, type: "get" }
      const from = random() < 0.5 ? 0 : (life.outputs.get(by) ?? 0)
      return { ...at, type, command: commandOf(by), from }
    }
    case "execute":
      return { ...at, type, path: anyOf(random, files), exits: anyOf(random, exits) }
    case "open": {
      const by = `p${life.history.length}-${Math.floor(random() * 1000)}`
      return { ...at, type, by, port: anyOf(random, ports), alongside: random() < 0.7 }
    }
    case "lookUp":
      return { ...at, type, port: anyOf(random, ports) }
    case "close":
    case "visit": {
      // Mostly the one that was opened last, which may be open.
      const known = [...life.previews]
      const id = random() < 0.7 ? known.at(-1) : anyOf(random, known)
      return id === undefined ? { ...at, type: "previews" } : { ...at, type, id }
    }
    case "told":
      return { ...at, type, after: 0, toEnd: false }
    case "snap":
    case "snapGet":
    case "snapPatch":
    case "snapDelete":
    case "child":
    case "fork":
    case "childRead":
    case "rollback":
      return ofSnapshots(random, life, type) ?? { ...at, type: "get" }
    case "write":
      return { ...at, type, path: anyOf(random, files), text: life.newText() }
    case "edit": {
      const path = anyOf(random, files)
      return { ...at, type, path, expected: life.seenTexts.get(path) ?? life.newText(), text: life.newText() }
    }
    case "read":
    case "archived":
    case "remove":
      return { ...at, type, path: anyOf(random, files) }
    default:
      return { ...at, type }
  }
}

type OfSnapshots = "snap" | "snapGet" | "snapPatch" | "snapDelete" | "child" | "fork" | "childRead" | "rollback"

/** Null: there is none of which it could be asked. */
const ofSnapshots = (random: Random, life: Life, type: OfSnapshots): Does | null => {
  const at = { sandbox: life.key }
  const again = life.history.findLast(({ does }) => does.type === type)?.does
  switch (type) {
    case "snap":
    case "fork": {
      // At times with a key that another client uses, or used before.
      if (again !== undefined && random() < 0.4) return again
      if (life.asked.snapshots >= snapshotsMax || life.id === null) return null
      const by = life.newSnapshot()
      if (type === "snap") return { ...at, type, by, name: life.newName() }
      return { ...at, type, by, count: 1 + Math.floor(random() * forkMax) }
    }
    case "child": {
      if (again !== undefined && random() < 0.4) return again
      const of = anyOf(random, [...life.snapshots.keys()])
      if (of === undefined || life.asked.children >= childrenMax) return null
      return { ...at, type, by: life.newChild(), of }
    }
    case "rollback": {
      if (again !== undefined && random() < 0.4) return again
      const of = anyOf(random, [...life.snapshots.keys()])
      if (of === undefined || life.asked.rollbacks >= rollbacksMax) return null
      return { ...at, type, by: life.newRollback(), of }
    }
    case "childRead": {
      const by = anyOf(random, [...life.children.keys()])
      return by === undefined ? null : { ...at, type, by, path: anyOf(random, files) }
    }
    default: {
      const by = anyOf(random, [...life.snapshots.keys()])
      if (by === undefined) return null
      return type === "snapPatch" ? { ...at, type, by, name: life.newName() } : { ...at, type, by }
    }
  }
}

const commandAgain = (random: Random, life: Life) => {
  const begun = life.history.findLast(({ does }) => does.type === "begin")?.does
  return begun?.type === "begin" && random() < 0.4 ? begun.command : null
}

/** What a last client reads when all others are done: a change that was lost shows here. */
export const lastReads = (life: Life): ReadonlyArray<Does> => {
  const at = { sandbox: life.key }
  if (life.id === null) return [{ ...at, type: "list" }]
  return [
    { ...at, type: "get" },
    { ...at, type: "list" },
    { ...at, type: "log" },
    { ...at, type: "commands" },
    ...(life.isDeleted ? [] : [{ ...at, type: "start", key: null } as const]),
    ...files.map((path) => ({ ...at, type: "read", path }) as const),
    ...[...life.snapshots.keys()].map((by) => ({ ...at, type: "snapGet", by }) as const),
    ...[...life.children.keys()].flatMap((by) =>
      files.map((path) => ({ ...at, type: "childRead", by, path }) as const)
    ),
    createOf(life)
  ]
}
