/** All tools, in the order of the list. */
export const toolNames: ReadonlyArray<string> = [
  "create_sandbox",
  "list_sandboxes",
  "start_sandbox",
  "stop_sandbox",
  "delete_sandbox",
  "create_snapshot",
  "list_snapshots",
  "delete_snapshot",
  "fork_sandbox",
  "rollback_sandbox",
  "list_images",
  "build_image",
  "build_output",
  "run",
  "output",
  "cancel",
  "read_file",
  "write_file",
  "edit_file",
  "list_files",
  "open_preview"
]
