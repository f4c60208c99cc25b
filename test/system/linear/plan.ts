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
  commands: 3,
  write: 8,
  edit: 10,
  read: 12,
  remove: 2
}
const all = Object.entries(weights).flatMap(([type, weight]) => Array<DoesType>(weight).fill(type as DoesType))

const files = ["a", "b"]
const startKeys = ["s1", "s2"]
const exits = [0, 1, 7]

const newCommand = (random: Random, place: number) =>
  commandOf(random() < 0.3 ? `${place}-hangs` : `${place}-exits-${anyOf(random, exits)}`)

/** @param isEnding It shall be deleted soon. */
export const nextOf = (random: Random, life: Life, isEnding: boolean): Does => {
  const at = { sandbox: life.key }
  const create = { ...at, type: "create", name: life.key } as const
  if (life.id === null) return random() < 0.7 ? create : { ...at, type: "list" }
  const type = isEnding && random() < 0.1 ? "delete" : anyOf(random, all)
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
    case "write":
      return { ...at, type, path: anyOf(random, files), text: life.newText() }
    case "edit": {
      const path = anyOf(random, files)
      return { ...at, type, path, expected: life.seenTexts.get(path) ?? life.newText(), text: life.newText() }
    }
    case "read":
    case "remove":
      return { ...at, type, path: anyOf(random, files) }
    default:
      return { ...at, type }
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
    { ...at, type: "create", name: life.key }
  ]
}
