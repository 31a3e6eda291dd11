import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { core, namesOf, type RawApi, scenario } from "./support/rawApi.ts"

const configMaps = `${core}/configmaps`
const type = "application/vnd.kubernetes.protobuf"

/** What Helm sends with the delete of a release's Secret: options with nothing set. */
const head = "6b3873000a130a027631120d44656c6574654f7074696f6e73"
const ofHelm = `${head}12001a002200`

/** Options of a delete with this message, of less than 128 bytes. */
const options = (message: string): string => `${head}12${(message.length / 2).toString(16).padStart(2, "0")}${message}`

const remove = (api: RawApi["Service"], hex: string) =>
  api.send("DELETE", `${configMaps}/a`, { body: new Uint8Array(Buffer.from(hex, "hex")), type })

const withConfigMap = (hex: string) =>
  scenario((api) =>
    Effect.gen(function* () {
      yield* api.post(configMaps, { metadata: { name: "a" } })
      const { at, status } = yield* remove(api, hex)
      return {
        status,
        reason: at("reason"),
        message: at("message"),
        isLeft: namesOf(yield* api.get(configMaps)).includes("a")
      }
    })
  )

const accepted: Readonly<Record<string, string>> = {
  "as Helm sends it": ofHelm,
  "with a grace period below zero": options("08ffffffffffffffffff01"),
  "with an unknown field of the highest number": options("f8ffffff0f01")
}

const malformed: Readonly<Record<string, readonly [hex: string, message: string]>> = {
  "with a number of more than 64 bits": [options("08ffffffffffffffffffff01"), "proto: integer overflow"],
  "with a length below zero": [options("22ffffffffffffffffff01"), "proto: negative length found during unmarshaling"],
  "with a length beyond its end": [options("22ff7f"), "unexpected EOF"],
  "with a number that is not over": [options("0880"), "unexpected EOF"],
  "with half a field of 64 bits": [options("6900"), "unexpected EOF"],
  "with a group that is not over": [options("4b"), "unexpected EOF"],
  "with a field without a number": [options("0200"), "proto: DeleteOptions: illegal tag 0 (wire type 2)"],
  "with a field of a number beyond 32 bits": [
    options("f8ffffff7f01"),
    "proto: DeleteOptions: illegal tag -1 (wire type 34359738360)"
  ],
  "with a field of an unknown form": [options("4f"), "proto: illegal wireType 7"],
  "with a text where a number is due": [options("0a0131"), "proto: wrong wireType = 2 for field GracePeriodSeconds"],
  "of another kind": [
    "6b3873000a0b0a02763112054f74686572",
    'no kind "Other" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"'
  ]
}

describe("Protobuf on the embedded cluster", () => {
  for (const [title, hex] of Object.entries(accepted)) {
    it.effect(`T2: the body of a delete may be protobuf, ${title}`, () =>
      Effect.gen(function* () {
        const { isLeft, status } = yield* withConfigMap(hex)

        assert.deepStrictEqual([status, isLeft], [200, false])
      })
    )
  }

  for (const [title, [hex, message]] of Object.entries(malformed)) {
    it.effect(`T2: the body of a delete in protobuf, ${title}, is a bad request and deletes nothing`, () =>
      Effect.gen(function* () {
        const answer = yield* withConfigMap(hex)

        assert.deepStrictEqual(answer, { status: 400, reason: "BadRequest", message, isLeft: true })
      })
    )
  }

  it.effect("T2: groups within groups, as many as a body holds, do not end the server", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(configMaps, { metadata: { name: "a" } })
        const groups = "4b".repeat(1_000_000)

        const refused = yield* remove(api, `6b387300${groups}`)

        assert.deepStrictEqual([refused.status, refused.at("message")], [400, "unexpected EOF"])
      })
    )
  )
})
