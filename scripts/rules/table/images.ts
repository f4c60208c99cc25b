import type { Section } from "../Rule.ts"

export const images: Section = {
  title: "Images",
  rules: [
    {
      rule: "A reference names its registry, and has neither a scheme nor a user; else 400.",
      decidedBy: "schemas/ImageReference.ts#ImageReference",
      heldBy: "image/images.test.ts#refuses references without a registry, with a scheme, a user or strange characters"
    },
    {
      rule: "A pull that the registry or the host refuses ends in `failed` with the reason; one without an answer is repeated.",
      decidedBy: "src/image/ImageDefinition.ts#imageDefinition",
      heldBy:
        "image/images.test.ts#fails with the host's reason, is pulled again after a silence, and is limited in number"
    },
    {
      rule: "An image that a Sandbox or a snapshot has is not deleted: 409 `IMAGE_IN_USE`.",
      decidedBy: "src/image/imageUse.ts#imageUse",
      heldBy:
        "image/images.test.ts#is the root of its Sandboxes and of those of their snapshots, and stays while they need it"
    },
    {
      rule: "The bytes of an image leave the host with the last image of any account that has its digest.",
      decidedBy: "src/image/imageUse.ts#imageUse.isShared",
      heldBy: "image/images.test.ts#is removed from the host when the last account that has the digest deletes it"
    },
    {
      rule: "The password for a registry is stored sealed, and only hosts get it.",
      decidedBy: "src/sandbox/sandboxImage.ts#imageCredentials",
      heldBy: "image/images.test.ts#keeps the registry's password sealed: hosts get it, and nothing else shows it"
    },
    {
      rule: "What an image stores costs at the rate of snapshots, from `ready` to `deleted`.",
      decidedBy: "src/wallet/billedStates.ts#isReady",
      heldBy: "image/imageCosts.test.ts#costs what it stores at the rate of snapshots, from ready to deleted"
    }
  ]
}
