import { assert, describe, it } from "@effect/vitest"
import * as SecretData from "../src/SecretData.ts"

describe("SecretData", () => {
  it("is base64 of UTF-8, and comes back as it was", () => {
    const texts = { user: "shop", password: "pä$$wörd\n", empty: "" }
    const data = SecretData.encode(texts)

    assert.deepStrictEqual(data, { user: "c2hvcA==", password: "cMOkJCR3w7ZyZAo=", empty: "" })
    assert.deepStrictEqual(SecretData.decode({ data }), texts)
    assert.deepStrictEqual(SecretData.decode({}), {})
  })
})
