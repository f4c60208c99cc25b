import type { Section } from "../Rule.ts"

export const files: Section = {
  title: "Files",
  rules: [
    {
      rule: "A path starts with `/workspace`, has at most 4096 characters, and no empty, `.` or `..` segment.",
      decidedBy: "schemas/WorkspacePath.ts#WorkspacePath",
      heldBy: "files/fileContract.ts#every path spelling has one meaning or is refused"
    },
    {
      rule: "A symbolic link that leaves /workspace is 400 `INVALID_PATH`.",
      decidedBy: "src/agent/files/Workspace.ts#leaves",
      heldBy: "files/workspace.test.ts#links in a path are followed, and refused when they leave /workspace"
    },
    {
      rule: "Stat, rename and delete act on a link itself.",
      decidedBy: "src/agent/files/stat.ts#statPath",
      heldBy: "files/tree.test.ts#removes files, links themselves and empty directories"
    },
    {
      rule: "A read returns at most 8 MiB, with the offset, size and EOF headers.",
      decidedBy: "src/agent/files/read.ts#openRange",
      heldBy: "files/content.test.ts#ranges join to the whole file and only the last says eof"
    },
    {
      rule: "A read past the end is empty, with EOF.",
      decidedBy: "src/agent/files/read.ts#openRange",
      heldBy: "files/content.test.ts#a range past the end is empty, at the requested offset"
    },
    {
      rule: "A cursor that disagrees with `offset` is 400.",
      decidedBy: "src/files/Files.ts#disagrees",
      heldBy: "files/fileContract.ts#ranges join, by offset and by cursor, and a range past the end is empty"
    },
    {
      rule: "A file that changed after the cursor was issued is 409 `CURSOR_STALE`.",
      decidedBy: "src/agent/files/version.ts#versionOf",
      heldBy: "files/content.test.ts#a continued read notices %s immediately",
      question: "When is a cursor stale?"
    },
    {
      rule: "A change of a directory's membership makes its cursor 409 `CURSOR_STALE`.",
      decidedBy: "src/agent/files/Listings.ts#stale",
      heldBy:
        "files/fileContract.ts#pages of a directory join; a new, removed or renamed entry makes the cursor stale, a new content does not"
    },
    {
      rule: "A file cursor is good for its own path, account and kind of call.",
      decidedBy: "src/files/FileCursor.ts#open",
      heldBy:
        "files/fileContract.ts#a cursor is good for its own path, account and kind of call, unchanged, and for nothing else"
    },
    {
      rule: "A list has pages of 1 to 1000 entries in the native order of the file system.",
      decidedBy: "src/agent/files/Listing.ts#Listing",
      heldBy: "files/list.test.ts#%i entries in pages of %i are all of them, once, in native order"
    },
    {
      rule: "A list shows each entry's metadata as its page is read.",
      decidedBy: "src/agent/files/Listings.ts#Listings",
      heldBy: "files/list.test.ts#shows each entry's metadata at the time when its page is read"
    },
    {
      rule: "A write creates the file or replaces it atomically.",
      decidedBy: "src/agent/files/write.ts#commit",
      heldBy: "files/content.test.ts#shows every concurrent reader one whole content"
    },
    {
      rule: "A body that breaks off leaves the old content.",
      decidedBy: "src/agent/files/Staging.ts#Staging",
      heldBy: "files/content.test.ts#leaves the old content and no staging file when the body breaks off"
    },
    {
      rule: "More than 8 MiB are 413.",
      decidedBy: "schemas/Limits.ts#fileContentMaxBytes",
      heldBy:
        "files/fileContract.ts#8 MiB are written and read; one byte more is 413, announced or not, and leaves the old content"
    },
    {
      rule: "A write whose parent is missing is 404.",
      decidedBy: "src/agent/files/write.ts#writePath",
      heldBy:
        "files/content.test.ts#refuses a missing parent, a directory and a body that is too large, and leaves nothing"
    },
    {
      rule: "A full volume is 413 `STORAGE_FULL` and changes nothing.",
      decidedBy: "src/agent/files/FileRefusal.ts#isFull",
      heldBy: "files/races.test.ts#refuses with STORAGE_FULL and changes nothing"
    },
    {
      rule: "An edit applies only to the content of `expectedSha256`, else 412 with the actual hash.",
      decidedBy: "src/agent/files/edit.ts#changed",
      heldBy:
        "files/content.test.ts#of 50 concurrent editors that saw the same file exactly one wins, the others learn the new hash"
    },
    {
      rule: "`oldText` occurs exactly once, or `replaceAll` is true: 409 `TEXT_NOT_FOUND`, `TEXT_AMBIGUOUS`.",
      decidedBy: "src/agent/files/edit.ts#replace",
      heldBy: "files/content.test.ts#counts occurrences that do not overlap, as text replacement does"
    },
    {
      rule: "A refused edit changes nothing.",
      decidedBy: "src/agent/files/edit.ts#Editor",
      heldBy: "files/content.test.ts#refuses with the contract's codes and changes nothing"
    },
    {
      rule: "A file that is not UTF-8 cannot be edited: 400.",
      decidedBy: "src/agent/files/edit.ts#invalid",
      heldBy: "files/content.test.ts#refuses with the contract's codes and changes nothing"
    },
    {
      rule: "An edit keeps the mode.",
      decidedBy: "src/agent/files/edit.ts#Editor",
      heldBy: "files/content.test.ts#keeps the mode and a byte-order mark"
    },
    {
      rule: "Rename onto an existing destination is 409 `DESTINATION_EXISTS`, unless `overwrite`.",
      decidedBy: "src/agent/files/rename.ts#exclusively",
      heldBy:
        "files/races.test.ts#never replaces a destination that appears meanwhile, and loses no source that is replaced meanwhile"
    },
    {
      rule: "Rename with `overwrite` replaces atomically; a non-empty directory is 409 `DIRECTORY_NOT_EMPTY`.",
      decidedBy: "src/agent/files/rename.ts#replace",
      heldBy: "files/fileContract.ts#directories, renames and removals answer with the contract's codes"
    },
    {
      rule: "A directory that exists is 409 `ALREADY_EXISTS`, unless `recursive`.",
      decidedBy: "src/agent/files/directory.ts#makeDirectory",
      heldBy: "files/fileContract.ts#directories, renames and removals answer with the contract's codes"
    },
    {
      rule: "Deleting a non-empty directory without `recursive` is 409; /workspace itself is 400.",
      decidedBy: "src/agent/files/remove.ts#removePath",
      heldBy: "files/tree.test.ts#refuses with the contract's codes"
    },
    {
      rule: "A Sandbox that does not run is 503 `RUNTIME_UNAVAILABLE`; a deleted one 404.",
      decidedBy: "src/files/FileErrors.ts#unavailable",
      heldBy: "files/fileContract.ts#a stopped Sandbox answers 503, a deleted one or another account's 404"
    },
    {
      rule: "An archive is unpacked entry by entry; an error says how far it came.",
      decidedBy: "src/agent/files/archive/unpack.ts#unpack",
      heldBy: "files/archiveCalls.test.ts#that are refused are answered with the fault and the progress"
    },
    {
      rule: "An archive of a directory has every file, link and time.",
      decidedBy: "src/agent/files/archive/pack.ts#Packing",
      heldBy: "files/archive.test.ts#is made of a directory, and the real tar unpacks it unchanged"
    },
    {
      rule: "Media type and scope are checked before shape and state.",
      decidedBy: "src/api/http/EndpointGuard.ts#guard",
      heldBy: "files/fileContract.ts#media types, scopes and bodies are checked before anything else"
    }
  ]
}
