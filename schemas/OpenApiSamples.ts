/**
 * `x-codeSamples` of each operation: curl, TypeScript, Python. Renderers of OpenAPI know this extension; `/docs` shows the same.
 *
 * test/service/api/reference/ runs those in curl and compiles those in TypeScript; test/system/clients/python/ has mypy read those in Python.
 */
import { exampleOf, withExample } from "./OpenApiExamples.ts"
import { curlSample, type SampledOperation } from "./samples/curl.ts"
import { pythonSamples } from "./samples/python.ts"
import { typescriptSamples } from "./samples/typescript.ts"

type Json = Record<string, unknown>

interface CodeSample {
  readonly lang: string
  readonly label: string
  readonly source: string
}

const codeSamples = (method: string, path: string, operation: SampledOperation): ReadonlyArray<CodeSample> => [
  { lang: "Shell", label: "curl", source: curlSample(method.toUpperCase(), path, operation) },
  ...[
    { lang: "TypeScript", label: "TypeScript", source: typescriptSamples[operation.operationId] },
    { lang: "Python", label: "Python", source: pythonSamples[operation.operationId] }
  ].flatMap((sample) => (sample.source === undefined ? [] : [sample as CodeSample]))
]

type Content = Parameters<typeof withExample>[2]
type Schemas = Readonly<Record<string, Json>>

const filled = (holder: Json, operationId: string, status: string, schemas: Schemas): Json =>
  "content" in holder
    ? { ...holder, content: withExample(operationId, status, holder["content"] as Content, schemas) }
    : holder

const file = "/workspace/main.py"
const directory = "/workspace/src"

/** The path that each call of files shows. */
const paths: Readonly<Record<string, string>> = {
  statFile: file,
  readFile: file,
  writeFile: file,
  editFile: file,
  renameFile: file,
  listFiles: directory,
  createDirectory: `${directory}/lib`,
  removeFile: directory,
  uploadArchive: directory,
  downloadArchive: directory
}

interface Parameter {
  readonly name: string
  readonly required: boolean
  readonly schema: Json
}

const exampleFor = (operationId: string, { name, schema }: Parameter, schemas: Schemas): unknown =>
  (name === "path" ? paths[operationId] : undefined) ?? exampleOf(schema, schemas)

const completed = (method: string, path: string, operation: Json, schemas: Schemas): Json => {
  const operationId = String(operation["operationId"])
  const { requestBody, responses, parameters } = operation as {
    readonly requestBody?: Json
    readonly responses: Readonly<Record<string, Json>>
    readonly parameters: ReadonlyArray<Parameter>
  }
  const whole = {
    ...operation,
    parameters: parameters.map((parameter) =>
      parameter.required ? { ...parameter, example: exampleFor(operationId, parameter, schemas) } : parameter
    ),
    ...(requestBody === undefined ? {} : { requestBody: filled(requestBody, operationId, "request", schemas) }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, response]) => [status, filled(response, operationId, status, schemas)])
    )
  }
  return { ...whole, "x-codeSamples": codeSamples(method, path, whole as unknown as SampledOperation) }
}

/** Once all names are final: an example for each request, answer and required parameter, and each operation in three languages. */
export const withSamples = (document: Json): Json => {
  const { schemas } = document["components"] as { readonly schemas: Schemas }
  const paths = Object.entries(document["paths"] as Record<string, Record<string, Json>>).map(([path, item]) => [
    path,
    Object.fromEntries(
      Object.entries(item).map(([method, operation]) => [method, completed(method, path, operation, schemas)])
    )
  ])
  return { ...document, paths: Object.fromEntries(paths) }
}
