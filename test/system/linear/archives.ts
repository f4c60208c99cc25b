/** What an archive has of some files. */
import { ByteSource } from "../../../src/platform/tar/ByteSource.ts"
import { tarEntries } from "../../../src/platform/tar/tarEntries.ts"
import { paddingOf } from "../../../src/platform/tar/tarHeader.ts"

/** By their names. */
export const filesOf = async (archive: AsyncIterable<Uint8Array>): Promise<ReadonlyMap<string, string>> => {
  const files = new Map<string, string>()
  const source = new ByteSource(archive)
  for await (const { kind, name, size } of tarEntries(source)) {
    if (kind !== "file") continue
    files.set(Buffer.from(name).toString(), Buffer.from(await source.exactly(size)).toString())
    await source.exactly(paddingOf(size))
  }
  return files
}
