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
      rule: "An uploaded archive is stored whole before its image exists; one that breaks off, or is too large, leaves nothing.",
      decidedBy: "src/image/uploadImage.ts#uploadImage",
      heldBy: "image/uploads.test.ts#leaves nothing of a body that breaks off, is too large, or is refused by the host"
    },
    {
      rule: "An uploaded archive is an image only where every part has the digest that its manifest names.",
      decidedBy: "src/host/image/LayoutArchive.ts#LayoutArchive",
      heldBy: "host/image/archives.test.ts#is refused where it is not what it says"
    },
    {
      rule: "In a fleet one host makes an uploaded image; another one gets it from there when a Sandbox boots on it.",
      decidedBy: "src/fleet/ImageCopies.ts#ImageCopies",
      heldBy:
        "fleet/uploadsOnHosts.test.ts#is brought to another host when a Sandbox boots there, also from a host that is drained, once for many"
    },
    {
      rule: "An uploaded image fails with `IMAGE_LOST` when each host that has it is lost or removed; it is ready again with a host that comes back.",
      decidedBy: "src/image/uploadedImages.ts#uploadedImages",
      heldBy:
        "fleet/lostImages.test.ts#fails when its only host is lost, is ready again with that host, and fails for good with its removal"
    },
    {
      rule: "A host that is drained is left by its uploaded images, and its removal needs no force once each has a copy elsewhere.",
      decidedBy: "src/fleet/leaveHost.ts#leaveHost",
      heldBy:
        "fleet/lostImages.test.ts#leaves a host that is drained, which is removed without force, and boots elsewhere"
    },
    {
      rule: "An image of a Dockerfile is built in a Sandbox that the service makes for it; its output stays when that Sandbox is gone.",
      decidedBy: "src/image/build/buildImage.ts#buildImage",
      heldBy:
        "service/image/builds.test.ts#is building in a Sandbox of the account, then ready; its output stays when the Sandbox is gone"
    },
    {
      rule: "A build that fails, is cancelled or loses its Sandbox ends in `failed` with the reason.",
      decidedBy: "src/image/build/buildImage.ts#buildImage",
      heldBy:
        "service/image/builds.test.ts#fails with the exit code, the time limit or the end of its Sandbox, and its output tells why"
    },
    {
      rule: "The Sandbox of a build is deleted with the image that is built.",
      decidedBy: "src/image/ImageDefinition.ts#imageDefinition",
      heldBy: "service/image/builds.test.ts#is deleted while it is built, and its Sandbox with it"
    },
    {
      rule: "The context of a build is whole in its Sandbox before its image exists; one that breaks off leaves nothing.",
      decidedBy: "src/image/build/uploadBuild.ts#uploadBuild",
      heldBy:
        "service/image/builds.test.ts#has its context in its Sandbox before it exists; one that breaks off leaves nothing"
    },
    {
      rule: "The Sandbox of a build whose service ends before the image is stored is deleted; that of a service which lives is left alone.",
      decidedBy: "src/sandbox/BuildLeases.ts#BuildLeases",
      heldBy:
        "service/image/givenUpBuilds.test.ts#is left to another service that lives, and deleted once that is silent"
    },
    {
      rule: "In a fleet the Sandbox of a build gets a host that builds images, of any runtime; where none builds the request is refused with 501.",
      decidedBy: "src/fleet/roomStatements.ts#roomStatements",
      heldBy:
        "service/fleet/buildsOnHosts.test.ts#gets a host that builds, also where others are emptier and of the usual runtime"
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
    },
    {
      rule: "An image of `ATOLL_IMAGES` is every account's, costs and counts for none, and no account deletes it: 403 `IMAGE_OF_OPERATOR`.",
      decidedBy: "src/image/deleteImage.ts#deleteImage",
      heldBy:
        "image/operatorImages.test.ts#is there for all accounts, costs none of them, counts for none, and none can delete it"
    },
    {
      rule: "The logins of `ATOLL_IMAGES_CREDENTIALS` are for the operator's images alone, and are stored nowhere.",
      decidedBy: "src/sandbox/sandboxImage.ts#imageCredentials",
      heldBy:
        "image/operatorLogins.test.ts#are read again at each pull, for the operator's images alone, and nothing shows them"
    },
    {
      rule: "A change of `ATOLL_IMAGES` makes another image; the former one takes no new Sandboxes, and stays while one has it.",
      decidedBy: "src/image/OperatorImages.ts#OperatorImages",
      heldBy:
        "image/operatorImages.test.ts#stays the same over a restart; another reference is another image, and the former one takes no more"
    },
    {
      rule: "In a fleet one host pulls an image; another one tries if the first has no room, and a refusal of the registry ends the pull.",
      decidedBy: "src/fleet/fleetImages.ts#fleetImages",
      heldBy:
        "service/fleet/images.test.ts#are pulled by one host that runs images, by another if it has no room, and by none if all lack them"
    },
    {
      rule: "A Sandbox with an image gets a host that runs images, which pulls the image if it lacks it.",
      decidedBy: "src/fleet/roomStatements.ts#roomStatements",
      heldBy:
        "service/fleet/images.test.ts#give their Sandboxes a host that runs images, which pulls by the digest unless it has it"
    }
  ]
}
