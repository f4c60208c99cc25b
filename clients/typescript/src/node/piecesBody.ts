/**
 * Pieces as the body of a request, each made when it is wanted. `failed` gets what making one threw, which is no failure of the connection.
 */
export const piecesBody = (
  pieces: AsyncGenerator<Uint8Array, void, undefined>,
  failed: (thrown: unknown) => void
): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await pieces.next()
          if (done === true) controller.close()
          else controller.enqueue(value)
        } catch (thrown) {
          failed(thrown)
          controller.error(thrown)
        }
      },
      cancel: async () => void (await pieces.return())
    },
    { highWaterMark: 0 }
  )
