import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Redacted } from "effect"
import * as Scram from "../src/Scram.ts"

/** The salt and the count of RFC 7677's example, whose password is "pencil". */
const salt = Buffer.from("W22ZaJ0SNY7soEsUEjb6gQ==", "base64")

describe("Scram", () => {
  it.effect("D7: the verifier of RFC 7677's example verifies that example's exchange", () =>
    Effect.gen(function* () {
      const verifier = yield* Scram.verifier(Redacted.make("pencil"), { salt, iterations: 4096 })

      assert.strictEqual(
        verifier,
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
      )
    })
  )

  it.effect("D7: each verifier has a salt of its own, and the password is not in it", () =>
    Effect.gen(function* () {
      const password = Redacted.make("a password")
      const [one, other] = [yield* Scram.verifier(password), yield* Scram.verifier(password)]

      assert.notStrictEqual(one, other)
      assert.notInclude(one, Redacted.value(password))
      assert.match(one, /^SCRAM-SHA-256\$4096:[\w+/]{22}==\$[\w+/]{43}=:[\w+/]{43}=$/u)
    })
  )

  it.effect.each(["", "pässword", "a\nb"])("refuses %j, which would have to be prepared first", (text) =>
    Effect.gen(function* () {
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Scram.verifier(Redacted.make(text)))))
    })
  )
})
