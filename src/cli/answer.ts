/** What a command answers: to stdout, where nothing else goes, so that `KEY=$(atoll keys create …)` holds a key or nothing. */
import { Effect } from "effect"

export const answer = (text: string): Effect.Effect<void> => Effect.sync(() => void process.stdout.write(`${text}\n`))
