/**
 * Where an image is: registry, repository, and a tag or a digest.
 *
 * @source OCI Distribution Specification 1.1, "Pulling manifests"
 */
import { Schema } from "effect"
import { imageReferenceMaxCharacters } from "./Limits.ts"
import { isCharactersBetween, isMatching } from "./Text.ts"

const label = "[A-Za-z0-9](?:[A-Za-z0-9\\-]{0,61}[A-Za-z0-9])?"
const port = "[0-9]{1,5}"
const registry = `(?:${label}(?:\\.${label})+(?::${port})?|${label}:${port}|localhost)`
const name = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*"
const tag = "[A-Za-z0-9_][A-Za-z0-9_.\\-]{0,127}"
const pattern = new RegExp(`^${registry}/${name}(?:/${name})*(?::${tag})?(?:@sha256:[0-9a-f]{64})?$`)

export const ImageReference = Schema.String.check(
  isCharactersBetween(1, imageReferenceMaxCharacters),
  isMatching(pattern, {
    message:
      "Expected REGISTRY/REPOSITORY[:TAG][@sha256:DIGEST] with the registry's host, such as docker.io/library/alpine:3.22; no scheme and no user"
  })
).annotate({
  identifier: "ImageReference",
  description:
    "Registry, repository, and a tag or a digest of it. The registry is always named: there is no default one. Without tag and digest, the tag is `latest`.",
  examples: ["docker.io/library/alpine:3.22"]
})
