/** Keeps the memory of a service or of a host near what it needs, without time spent on collecting it. */
import { boundHeapGrowth } from "./HeapGrowth.ts"
import { collectPassingBytes } from "./PassingBytes.ts"
import { giveBackPooledPages } from "./PooledPages.ts"
import { boundYoungGeneration } from "./YoungGeneration.ts"

export const boundMemory = (): void => {
  boundHeapGrowth()
  boundYoungGeneration()
  giveBackPooledPages()
  collectPassingBytes()
}
