/**
 * The parts of an image's reference: `host[:port]/repository[:tag][@digest]`.
 *
 * @source github.com/distribution/reference, "Grammar"
 */
import { invalidReference } from "./imageRefusals.ts"

export interface ImageReference {
  /** As URLs write it, with its port if the reference names one. */
  readonly registry: string
  readonly repository: string
  readonly tag: string
  readonly digest: string | null
}

const REFERENCE_MAX_CHARS = 512
const DOCKER_HUB = "docker.io"
/** The address at which Docker Hub serves images. */
const DOCKER_HUB_REGISTRY = "registry-1.docker.io"

const HOST =
  "(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*)(?::\\d{1,5})?"
const PART = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*"
const FORM = new RegExp(`^(${HOST})/(${PART}(?:/${PART})*)(?::([\\w][\\w.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$`)

export const isDigest = (text: unknown): text is string =>
  typeof text === "string" && /^sha256:[0-9a-f]{64}$/.test(text)

/** Throws a RuntimeRefused. */
export const imageReference = (text: string): ImageReference => {
  const [, host, path, tag, digest] = (text.length > REFERENCE_MAX_CHARS ? null : FORM.exec(text)) ?? []
  // Without a dot or a port it may be the first part of a repository.
  if (host === undefined || path === undefined || !(/[.:]/.test(host) || host === "localhost")) throw invalidReference()
  const isHub = host.toLowerCase() === DOCKER_HUB
  return {
    registry: isHub ? DOCKER_HUB_REGISTRY : host.toLowerCase(),
    repository: isHub && !path.includes("/") ? `library/${path}` : path,
    tag: tag ?? "latest",
    digest: digest ?? null
  }
}
