import type { FileStat } from "../../../../../schemas/Files.ts"

const drawings: Readonly<Record<FileStat["type"], string>> = {
  directory: "M1.5 3.5h4.6l1.6 2h6.8v7.8h-13z",
  file: "M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3",
  symlink: "M6.5 9.5l3-3M5.5 7.5l-2 2a2.1 2.1 0 003 3l2-2M10.5 8.5l2-2a2.1 2.1 0 00-3-3l-2 2",
  other: "M8 1.5l6.5 6.5-6.5 6.5L1.5 8z"
}

export const kindNames: Readonly<Record<FileStat["type"], string>> = {
  directory: "folder",
  file: "file",
  symlink: "link",
  other: "special"
}

export const FileKind = ({ type }: { type: FileStat["type"] }) => (
  <svg class={`kind ${type}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    <path d={drawings[type]} />
  </svg>
)
