/** The pages of a list one after the other, each requested when the one before was consumed. */
export async function* paged<Page extends { readonly nextCursor: string | null }>(
  ask: (cursor: string | undefined) => Promise<Page>
): AsyncGenerator<Page, void, undefined> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await ask(cursor)
    yield page
    cursor = page.nextCursor
  }
}
