/**
 * What a command answers: to stdout, where nothing else goes, so that `KEY=$(atoll keys create …)` holds a key or nothing. With `--json`,
 * which every command takes, it is one JSON document.
 */
import { Effect, Schema } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { shownText } from "./shownText.ts"

export const Json = GlobalFlag.Setting("json")({
  flag: Flag.Boolean("json").pipe(Flag.withDescription("Print one JSON document"), Flag.withDefault(false))
})

/** @param document What `--json` prints: of JSON's types only. */
export const answer = Effect.fnUntraced(function* (prose: string, document: object) {
  const text = (yield* Json) ? JSON.stringify(document, null, 2) : prose
  yield* Effect.sync(() => void process.stdout.write(`${shownText(text)}\n`))
})

/** Beside the answer: to stderr. */
export const remark = (sentence: string): Effect.Effect<void> =>
  Effect.sync(() => void process.stderr.write(`atoll: ${shownText(sentence)}\n`))

/** It was understood and is not done. `message` is one sentence that says why. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", { message: Schema.String }) {}

/** It makes no sense as it was written. `message` is one sentence that says how it would. */
export class WrongUsage extends Schema.TaggedError<WrongUsage>()("WrongUsage", { message: Schema.String }) {}

/** 0 stands for what was done. */
export const exitCodes = { refused: 1, wrongUsage: 2 } as const
