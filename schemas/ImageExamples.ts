/** The examples of images in the OpenAPI description, by the names of their schemas. */
import { imageId } from "./samples/ids.ts"

const reference = "registry.example.com/team/tools:1.4"

/** Of what has neither. */
export const madeOfNothing = { snapshotId: null, imageId: null }

export const imageExamples: Readonly<Record<string, unknown>> = {
  PullImageRequest: { name: "tools", reference, username: "robot", password: "a token of the registry" },
  Image: {
    id: imageId,
    name: "tools",
    reference,
    build: null,
    operator: false,
    digest: "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    status: "ready",
    statusReason: null,
    sizeBytes: 314_572_800,
    storedBytes: 104_857_600,
    createdAt: "2026-01-31T12:00:05.000Z",
    readyAt: "2026-01-31T12:00:16.000Z",
    deletedAt: null
  }
}
