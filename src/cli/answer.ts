/**
 * The result of a command, on stdout. Nothing else is written there, so that `KEY=$(atoll keys create …)` contains a key or nothing. With `--json`,
 * which every command accepts, it is one JSON document.
 */
import { Effect } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { shownText } from "./shownText.ts"

export const Json = GlobalFlag.Setting("json")({
  flag: Flag.Boolean("json").pipe(Flag.withDescription("Print one JSON document"), Flag.withDefault(false))
})

/** @param document The output of `--json`: JSON types only. */
export const answer = Effect.fnUntraced(function* (prose: string, document: object) {
  const text = (yield* Json) ? JSON.stringify(document, null, 2) : prose
  yield* Effect.sync(() => void process.stdout.write(`${shownText(text)}\n`))
})

/** A remark beside the result, on stderr. */
export const remark = (sentence: string): Effect.Effect<void> =>
  Effect.sync(() => void process.stderr.write(`atoll: ${shownText(sentence)}\n`))

/** 0 is success. */
export const exitCodes = { refused: 1, wrongUsage: 2 } as const
