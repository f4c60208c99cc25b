/** The form that builds an image. */
import { assert, it } from "vitest"
import { archiveQueryOf, buildOf } from "../../../../src/console/pages/images/buildForm.ts"
import { FieldFaults } from "../../../../src/console/pages/ui/fieldFaults.ts"

const formOf = (given: Readonly<Record<string, string>>) => {
  const data = new FormData()
  for (const [name, value] of Object.entries(given)) data.set(name, value)
  return data
}

it("empty fields are absent; a Dockerfile has plain line ends; a value has all that follows the sign", () => {
  const empty = { name: null, contextSnapshotId: null, target: null, buildArgs: null }
  assert.deepStrictEqual(buildOf(formOf({ dockerfile: "FROM a\r\nRUN b", name: " ", target: "", buildArgs: "\r\n" })), {
    ...empty,
    dockerfile: "FROM a\nRUN b"
  })
  assert.deepStrictEqual(
    buildOf(
      formOf({
        ...{ dockerfile: "FROM a", name: " tools ", contextSnapshotId: "snp_1", target: "last" },
        buildArgs: "VERSION=a=b\r\nEMPTY="
      })
    ),
    {
      ...{ dockerfile: "FROM a", name: "tools", contextSnapshotId: "snp_1", target: "last" },
      buildArgs: { VERSION: "a=b", EMPTY: "" }
    }
  )
})

it("a build argument without a value is a mistake of its field", () => {
  try {
    buildOf(formOf({ dockerfile: "FROM a", buildArgs: "VERSION" }))
    assert.fail("it was taken")
  } catch (fault) {
    assert.instanceOf(fault, FieldFaults)
    assert.hasAllKeys(fault.mistakes, ["buildArgs"])
  }
})

it("the query of an archive has what is given, and each argument once", () => {
  const query = archiveQueryOf(
    formOf({ name: " tools ", dockerfile: "sub/Dockerfile", target: "", buildArgs: "VERSION=a&b=c\r\nEMPTY=" })
  )
  assert.deepStrictEqual(
    [...new URLSearchParams(query)],
    [
      ["name", "tools"],
      ["dockerfile", "sub/Dockerfile"],
      ["buildArg", "VERSION=a&b=c"],
      ["buildArg", "EMPTY="]
    ]
  )
  assert.strictEqual(archiveQueryOf(formOf({ archive: "a file" })), "")
  assert.throws(() => archiveQueryOf(formOf({ buildArgs: "VERSION" })), FieldFaults)
})
