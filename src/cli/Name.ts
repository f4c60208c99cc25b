/** Names of accounts and keys, bounded as the API's names are. */
import { Schema } from "effect"
import { nameMaxCharacters } from "../../schemas/Limits.ts"
import { isCharactersBetween, isPlainText } from "../../schemas/Text.ts"

export const Name = Schema.String.check(isCharactersBetween(1, nameMaxCharacters), isPlainText)
