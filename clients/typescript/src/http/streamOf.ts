/** A stream of a generator's values, made as it is read. (`ReadableStream.from` is not everywhere.) */
export const streamOf = (
  chunks: AsyncGenerator<Uint8Array, void, undefined>,
  cancel: (reason: unknown) => Promise<unknown> | unknown
): ReadableStream<Uint8Array<ArrayBuffer>> =>
  new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done === true) controller.close()
        else controller.enqueue(value as Uint8Array<ArrayBuffer>)
      },
      async cancel(reason) {
        await cancel(reason)
      }
    },
    { highWaterMark: 0 }
  )
