/** Images, and a Sandbox that has it for its root. */
import { tarMediaType } from "../../../../../schemas/Files.ts"
import { imageArchiveMediaType } from "../../../../../schemas/ImageUpload.ts"
import type { Scenario } from "./Scenario.ts"
import { make, pass, remove, workspace } from "./steps.ts"

/** A service that takes over pulls it again. */
const pulled = pass(6000)

export const imageScenarios: ReadonlyArray<Scenario> = [
  {
    name: "image",
    steps: [
      workspace,
      make("image", "/images", {
        name: "tools",
        reference: "registry.test/private/tools:1",
        username: "robot",
        password: "word"
      }),
      pulled,
      make("create", "/sandboxes?wait=running", {
        workspaceId: "{workspace}",
        name: "rooted",
        networkEnabled: false,
        imageId: "{image}"
      }),
      { ...remove("delete in use", "/images/{image}"), status: 409 },
      remove("delete the Sandbox", "/sandboxes/{create}"),
      remove("delete", "/images/{image}"),
      pass(2000)
    ]
  },
  {
    name: "build",
    steps: [
      workspace,
      make("image", "/images", { name: "tools", dockerfile: "FROM scratch\nRUN exit 0", buildArgs: { VERSION: "1" } }),
      pass(10_000),
      remove("delete", "/images/{image}"),
      pass(2000)
    ]
  },
  {
    name: "build with its context",
    steps: [
      workspace,
      {
        ...make("image", "/images/build?name=tools"),
        bytes: { type: tarMediaType, bytes: Buffer.from("a context") }
      },
      pass(10_000),
      remove("delete", "/images/{image}"),
      pass(2000)
    ]
  },
  {
    name: "upload",
    steps: [
      workspace,
      {
        ...make("image", "/images/upload?name=tools"),
        bytes: { type: imageArchiveMediaType, bytes: Buffer.from("one") }
      },
      pulled,
      make("create", "/sandboxes?wait=running", {
        workspaceId: "{workspace}",
        name: "rooted",
        networkEnabled: false,
        imageId: "{image}"
      }),
      remove("delete the Sandbox", "/sandboxes/{create}"),
      remove("delete", "/images/{image}"),
      pass(2000)
    ]
  }
]
