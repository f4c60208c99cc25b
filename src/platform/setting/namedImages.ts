/** A setting that names images, each with the reference under which its registry has it. */
import { Config, Option, Schema } from "effect"
import type { Setting } from "./Setting.ts"

export interface NamedImage {
  readonly name: string
  readonly reference: string
}

/** More would make a list of images useless for people. */
const imagesMax = 100
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/

/** As the API's `ImageReference`, which this folder may not import; a test compares the two. */
const referenceMaxCharacters = 512
const label = "[A-Za-z0-9](?:[A-Za-z0-9\\-]{0,61}[A-Za-z0-9])?"
const registry = `(?:${label}(?:\\.${label})+(?::[0-9]{1,5})?|${label}:[0-9]{1,5}|localhost)`
const part = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*"
const tag = "[A-Za-z0-9_][A-Za-z0-9_.\\-]{0,127}"
const referencePattern = new RegExp(`^${registry}/${part}(?:/${part})*(?::${tag})?(?:@sha256:[0-9a-f]{64})?$`)

const isReference = (text: string): boolean => text.length <= referenceMaxCharacters && referencePattern.test(text)

/** Null: the text is not of that form. */
const imagesIn = (text: string): ReadonlyArray<NamedImage> | null => {
  const items = text.split(",").flatMap((item) => (item.trim() === "" ? [] : [item.trim()]))
  const images = items.map((item) => {
    const at = item.indexOf("=")
    return { name: item.slice(0, Math.max(at, 0)), reference: item.slice(at + 1) }
  })
  const areValid = images.every(({ name, reference }) => namePattern.test(name) && isReference(reference))
  const areDistinct = new Set(images.map(({ name }) => name)).size === images.length
  return areValid && areDistinct && images.length <= imagesMax ? images : null
}

export const namedImages = (env: string, description: string): Setting<ReadonlyArray<NamedImage>> => ({
  env,
  description,
  default: "",
  shape: `at most ${imagesMax} name=reference with commas between, each name once, such as python=docker.io/library/python:3.14`,
  config: Config.schema(Schema.String.check(Schema.makeFilter<string>((text) => imagesIn(text) !== null)), env).pipe(
    Config.option,
    Config.map((found) => imagesIn(Option.getOrElse(found, () => "")) ?? [])
  )
})
