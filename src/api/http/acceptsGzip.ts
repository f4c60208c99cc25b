/** Whether the client accepts a gzip response. @source RFC 9110 section 12.5.3 */
export const acceptsGzip = (acceptEncoding: string | undefined): boolean => {
  const weights = new Map<string, number>()
  for (const offer of (acceptEncoding ?? "").toLowerCase().split(",")) {
    const [coding = "", ...parameters] = offer.split(";").map((part) => part.trim())
    const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2)
    weights.set(coding, weight === undefined ? 1 : Number(weight))
  }
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0
}
