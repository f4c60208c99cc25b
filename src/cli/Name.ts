/** Names of accounts and keys: the same limits as in the API, and on one line, because tables show them. */
import { Schema } from "effect"
import { nameMaxCharacters } from "../../schemas/Limits.ts"
import { isCharactersBetween, isPlainText, isShownName } from "../../schemas/Text.ts"

export const Name = Schema.String.check(isCharactersBetween(1, nameMaxCharacters), isPlainText, isShownName)
