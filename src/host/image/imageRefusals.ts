/** Why an image is refused, as the account that asked for it may read it. */
import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeRefused, RuntimeUnavailable } from "../../runtime/Runtime.ts"

export const notFound = () =>
  new RuntimeRefused({
    code: "IMAGE_NOT_FOUND",
    message: publicText`The registry has no such image, or does not show it without credentials. Check the reference.`
  })

/** It came as an archive, and this host has lost it, or never had it. */
export const uploadLost = () =>
  new RuntimeRefused({
    code: "IMAGE_NOT_FOUND",
    message: publicText`The host has lost the image, which was uploaded: there is no registry to pull it from again. Upload it again.`
  })

export const noRegistry = () =>
  new RuntimeRefused({
    code: "IMAGE_NOT_FOUND",
    message: publicText`The name of the image's registry has no IPv4 address. Check the reference.`
  })

export const unauthorized = () =>
  new RuntimeRefused({
    code: "IMAGE_UNAUTHORIZED",
    message: publicText`The registry refuses access to the image. Check username and password, and that they may pull it.`
  })

export const forbiddenAddress = () =>
  new RuntimeRefused({
    code: "IMAGE_ADDRESS_FORBIDDEN",
    message: publicText`The image would be read from an address or over a protocol that is not allowed: private networks and plain HTTP are only for registries that the operator names.`
  })

export const tooLarge = (maxBytes: number) =>
  new RuntimeRefused({
    code: "IMAGE_TOO_LARGE",
    message: publicText`The image is larger than ${maxBytes} bytes, compressed or unpacked.`
  })

export const tooMany = (what: "layers" | "entries", most: number) =>
  new RuntimeRefused({
    code: "IMAGE_TOO_LARGE",
    message:
      what === "layers"
        ? publicText`The image has more than ${most} layers.`
        : publicText`The image has more than ${most} files and folders, or their names are too long together.`
  })

export const otherArchitecture = () =>
  new RuntimeRefused({
    code: "IMAGE_UNSUPPORTED",
    message: publicText`The image is not for Linux on this host's processors.`
  })

export const unknownFormat = () =>
  new RuntimeRefused({
    code: "IMAGE_UNSUPPORTED",
    message: publicText`The image has a format that is not supported: OCI and Docker images with layers of tar, plain or compressed by gzip or zstd, are.`
  })

export const invalid = (message = publicText`The image is broken: its contents are not what its manifest names.`) =>
  new RuntimeRefused({ code: "IMAGE_INVALID", message })

export const invalidLayer = () => invalid(publicText`The image is broken: a layer has an entry that no layer may have.`)

export const invalidReference = () =>
  invalid(publicText`The reference of the image is not valid. It is host/repository:tag or host/repository@sha256:….`)

export const noRoom = () =>
  new RuntimeRefused({
    code: "IMAGE_NO_ROOM",
    message: publicText`This host has no room for the image now. Try again later, or delete another image or Sandbox.`
  })

export const busy = () =>
  new RuntimeRefused({
    code: "IMAGE_NO_ROOM",
    message: publicText`This host receives as many images as it can at a time. Try again later.`
  })

/** The registry may work later. `message` is for the operator's log. */
export const registryFailed = (message: string) =>
  new RuntimeUnavailable({
    message,
    shown: publicText`The image's registry does not answer as it should. Try again later.`
  })
