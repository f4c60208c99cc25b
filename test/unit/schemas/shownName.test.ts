import { Schema } from "effect"
import { assert, it } from "vitest"
import { isShownName } from "../../../schemas/Text.ts"
import { shownText } from "../../../src/cli/shownText.ts"

const isName = Schema.is(Schema.String.check(isShownName))

it("a name may have every script, with marks, joined letters and joined emoji", () => {
  for (const name of [
    "acme",
    "Zoë",
    "株式会社",
    "שלום",
    "می\u200cخواهم",
    "क्\u200dष",
    "👩\u200d💻 team",
    "a b",
    "1",
    "Müller & Söhne"
  ])
    assert.isTrue(isName(name), name)
})

it("a name may not have invisible characters, or ones that change how their neighbours look", () => {
  const hidden = [
    "\0",
    "\n",
    "\x1b[2J",
    "\x7f",
    "\u0085",
    "\u00ad",
    "\u200b",
    "\u200e",
    "\u2028",
    "\u2029",
    "\u202e",
    "\u2066",
    "\u2060",
    "\ufeff",
    "\ue000",
    "\u{e0061}",
    "\ud800"
  ]
  for (const one of hidden) assert.isFalse(isName(`ac${one}me`), JSON.stringify(one))
  // Between Latin letters a joiner is only invisible.
  for (const one of ["ac\u200dme", "ac\u200cme", "\u200dacme", " acme", "acme ", "acme\u00a0"])
    assert.isFalse(isName(one), JSON.stringify(one))
})

it("a terminal shows the code of a forbidden character, which JSON reads as the character", () => {
  const name = "ac\u202eme\u200b \x1b[2J \u2028 \u{e0061}"
  assert.strictEqual(shownText(name), "ac\\u202eme\\u200b \\u001b[2J \\u2028 \\udb40\\udc61")
  assert.strictEqual(shownText("line\nline"), "line\nline")
  const document = JSON.stringify({ name }, null, 2)
  assert.deepStrictEqual(JSON.parse(shownText(document)), { name })
  assert.notMatch(shownText(document), /[^\P{C}\n]|[\p{Zl}\p{Zp}]/u)
})
