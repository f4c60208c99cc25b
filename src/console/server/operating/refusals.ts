/** Why the operator's act is not done. The command line and the operator's page show the same sentence. */
import { Schema } from "effect"

/** A valid act that was refused. `message` is one sentence with the reason. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", { message: Schema.String }) {}

/** An invalid act. `message` is one sentence that says how to correct it. */
export class WrongUsage extends Schema.TaggedError<WrongUsage>()("WrongUsage", { message: Schema.String }) {}
