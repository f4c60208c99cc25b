/**
 * What a whole history says of each moment in it, so that the search does not try what a later answer contradicts: every answer has to be explained,
 * so a state that an answer excludes for ever leads nowhere, and a lost call of which no answer could tell need not have happened.
 *
 * Only time is saved: the verdict is the same (`foresight.test.ts`).
 */
import type { Call, Foresight, History } from "../../../../src/proofs/linear/Model.ts"
import type { Answer, Does } from "../calls.ts"
import type { State } from "./State.ts"
import { childNames } from "./snapshots.ts"

const answersOf = (history: History<Does, Answer>): ReadonlyArray<Answer> =>
  history.flatMap(({ answered }) => (answered === null ? [] : [answered.answer]))

const isPrefix = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  one.every((entry, place) => place >= other.length || entry === other[place])

/** The log only grows, so at each moment it begins as the longest one that was answered, or is longer. */
const longestLog = (history: History<Does, Answer>): ReadonlyArray<string> =>
  history.reduce<ReadonlyArray<string>>(
    (longest, { does, answered }) =>
      does.type === "log" && answered?.answer.is === "log" && answered.answer.entries.length > longest.length
        ? answered.answer.entries
        : longest,
    []
  )

const terminal = /^(completed|cancelled|failed)/

const commandsSeen = (answers: ReadonlyArray<Answer>) =>
  answers.flatMap((answer) =>
    answer.is === "command" ? [answer.command] : answer.is === "commands" ? answer.commands : []
  )

/** The texts of which some call knows: one that was read, or is expected by an edit. */
const textsSeen = (history: History<Does, Answer>): ReadonlySet<string | null> =>
  new Set(
    history.flatMap(({ does, answered }) => {
      const answer = answered?.answer
      return [
        ...(does.type === "edit" ? [does.expected] : []),
        ...(answer?.is === "text" || answer?.is === "ran" ? [answer.text] : []),
        ...(answer?.is === "refused" && answer.actual !== undefined ? [answer.actual] : [])
      ]
    })
  )

/** The lost calls of which no answer could tell: without them everything else is possible as with them. */
const isIdle = (history: History<Does, Answer>): ((call: Call<Does, Answer>) => boolean) => {
  const commands = commandsSeen(answersOf(history))
  const begun = new Set(commands.map(({ by }) => by))
  const cancelled = new Set(commands.filter(({ status }) => status === "cancelled").map(({ by }) => by))
  const texts = textsSeen(history)
  const removed = new Set<string>()
  const ended = new Set<string>()
  for (const { does, answered } of history) {
    if (does.type === "remove" && answered?.answer.is === "done") removed.add(does.path)
    const isOutput = does.type === "output" || does.type === "follow"
    if (isOutput && answered?.answer.is === "output" && answered.answer.eof) ended.add(does.command.by)
  }
  const told = new Set(
    history.flatMap(({ does, answered }) =>
      "by" in does && answered !== null && answered.answer.is !== "refused" ? [does.by] : []
    )
  )
  return ({ does, answered }) => {
    if (answered !== null) return false
    switch (does.type) {
      case "snap":
      case "fork":
      case "child":
        return !told.has(does.by)
      case "begin":
        return !begun.has(does.command.by)
      case "cancel":
        return !cancelled.has(does.command.by) && !ended.has(does.command.by)
      case "write":
        return !texts.has(does.text) && !removed.has(does.path)
      case "edit":
        return !texts.has(does.text)
      default:
        return false
    }
  }
}

/** Snapshots whose files some answer may tell: of a Sandbox of them, or of one that was rolled back to them. */
const readOf = (history: History<Does, Answer>, images: ReadonlyMap<string, unknown>): ReadonlySet<string> =>
  new Set([...images.keys(), ...history.flatMap(({ does }) => (does.type === "rollback" ? [does.of] : []))])

const withUnread = (call: Call<Does, Answer>, read: ReadonlySet<string>): Call<Does, Answer> => {
  const { does } = call
  return (does.type === "snap" || does.type === "fork" || does.type === "rollback") && !read.has(does.by)
    ? { ...call, does: { ...does, isUnread: true } }
    : call
}

/** What was read of the files of each snapshot, in Sandboxes that were made of it. */
const imagesRead = (history: History<Does, Answer>) => {
  const origins = new Map<string, string>()
  for (const { does } of history) {
    if (does.type === "child") origins.set(does.by, does.of)
    if (does.type === "fork") for (const by of childNames(does.by, does.count)) origins.set(by, does.by)
  }
  const images = new Map<string, Map<string, string | null>>()
  for (const { does, answered } of history) {
    if (does.type !== "childRead" || answered?.answer.is !== "text") continue
    const of = origins.get(does.by)
    if (of === undefined) continue
    const image = images.get(of) ?? new Map<string, string | null>()
    images.set(of, image.set(does.path, answered.answer.text))
  }
  return images
}

export const foresee = (history: History<Does, Answer>): Foresight<State, Does, Answer> => {
  const log = longestLog(history)
  const results = new Map(
    commandsSeen(answersOf(history))
      .filter(({ status }) => terminal.test(status))
      .map(({ by, result }) => [by, result])
  )
  const isContradicted = ([by, { seen }]: readonly [string, State["commands"][string]]) => {
    const result = results.get(by)
    return (
      result !== undefined &&
      terminal.test(seen) &&
      seen !== result &&
      !(seen === "cancelled" && /^cancelled/.test(result))
    )
  }
  const images = imagesRead(history)
  const read = readOf(history, images)
  const isOtherImage = ([by, { files }]: readonly [string, State["snapshots"][string]]) =>
    files !== null && [...(images.get(by) ?? [])].some(([path, text]) => (files[path] ?? null) !== text)
  const isIdleCall = isIdle(history)
  return {
    history: history.filter((call) => !isIdleCall(call)).map((call) => withUnread(call, read)),
    isPossible: (state) =>
      isPrefix(state.log, log) &&
      !Object.entries(state.commands).some(isContradicted) &&
      !Object.entries(state.snapshots).some(isOtherImage)
  }
}
