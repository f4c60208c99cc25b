/** Whether something is mounted on a folder, as this process sees it. */
import { mountOptionsOf } from "./mountTable.ts"

export const isMounted = (folder: string): boolean => mountOptionsOf(folder) !== null
