import * as KubeError from "@berth/kube/KubeError"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import * as Disposition from "../src/Disposition.ts"
import * as KubeFailure from "../src/KubeFailure.ts"

const request = { verb: "create", resource: "configmaps", namespace: "shop", name: "settings" }
const answer = (status: number, reason: string, detail: string) => ({ ...request, status, reason, detail })
const invalid = (detail: string, ...fields: ReadonlyArray<string>) =>
  new KubeError.Invalid({
    ...answer(422, "Invalid", detail),
    causes: fields.map((field) => ({ field, reason: "FieldValueInvalid", message: "no" }))
  })
const forbidden = (detail: string) => new KubeError.Forbidden(answer(403, "Forbidden", detail))
const broken = (status: number, detail: string) => new KubeError.ServerError(answer(status, "", detail))

/** Each `detail` is what Kubernetes 1.36 said, shortened. */
const rows: ReadonlyArray<{
  readonly error: KubeError.KubeError
  readonly becomes: string
  readonly after?: Duration.Input
  readonly because: string
}> = [
  {
    error: new KubeError.NotFound(answer(404, "NotFound", 'namespaces "shop" not found')),
    becomes: "Transient not_found",
    because: "what is missing may come"
  },
  {
    error: new KubeError.AlreadyExists(answer(409, "AlreadyExists", "…")),
    becomes: "Transient already_exists",
    because: "a cache was behind"
  },
  {
    error: new KubeError.Conflict({ ...answer(409, "Conflict", "…"), managers: [] }),
    becomes: "Transient conflict",
    because: "the next pass reads anew"
  },
  {
    error: new KubeError.Conflict({
      ...answer(409, "Conflict", "…"),
      managers: [{ manager: "kubectl", field: ".data.color" }]
    }),
    becomes: "Transient field_conflict",
    because: "the other writer may let go"
  },
  { error: new KubeError.Gone(answer(410, "Expired", "…")), becomes: "Transient stale", because: "a list starts anew" },
  {
    error: invalid('Service "s" is invalid: spec.ports: …', "spec.ports[0].port"),
    becomes: "Terminal invalid_object",
    because: "the same object is refused again"
  },
  {
    error: invalid("the body is too large"),
    becomes: "Terminal refused_object",
    because: "there is no field to name"
  },
  {
    error: invalid('admission webhook "x.example.com" denied the request: no'),
    becomes: "Transient admission_refused",
    after: "1 minute",
    because: "a webhook chooses its own code"
  },
  {
    error: invalid("configmaps \"s\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"),
    becomes: "Transient admission_refused",
    after: "1 minute",
    because: "a policy's refusal has the code of an invalid object"
  },
  {
    error: forbidden('configmaps "s" is forbidden: exceeded quota: q, requested: configmaps=1'),
    becomes: "Transient quota_exceeded",
    after: "1 minute",
    because: "room is made by people"
  },
  {
    error: forbidden('admission webhook "x.example.com" denied the request: no'),
    becomes: "Transient admission_refused",
    after: "1 minute",
    because: "policies change"
  },
  {
    error: forbidden(
      'admission webhook "x.example.com" denied the request: User "bob" cannot create resource "configmaps" here'
    ),
    becomes: "Transient admission_refused",
    after: "1 minute",
    because: "a webhook's words may sound like a missing permission"
  },
  {
    error: forbidden('pods "p" is forbidden: violates PodSecurity "restricted:latest": privileged'),
    becomes: "Transient admission_refused",
    after: "1 minute",
    because: "built-in admission says Forbidden too"
  },
  {
    error: forbidden(
      'configmaps "s" is forbidden: unable to create new content in namespace a because it is being terminated'
    ),
    becomes: "Transient namespace_terminating",
    because: "the namespace will be gone soon"
  },
  {
    error: forbidden('configmaps is forbidden: User "bob" cannot create resource "configmaps" in API group ""'),
    becomes: "Transient forbidden",
    after: "1 minute",
    because: "granting a permission changes no object that is watched"
  },
  {
    error: forbidden('roles "r" is forbidden: user "bob" is attempting to grant RBAC permissions not currently held'),
    becomes: "Transient forbidden",
    after: "1 minute",
    because: "escalation is a missing permission"
  },
  { error: forbidden(""), becomes: "Transient forbidden", after: "1 minute", because: "the text is kept back" },
  {
    error: new KubeError.Unauthorized(answer(401, "Unauthorized", "…")),
    becomes: "Transient credentials_rejected",
    after: "1 minute",
    because: "somebody has to renew them"
  },
  {
    error: new KubeError.TooManyRequests({ ...answer(429, "", "…"), retryAfterMs: 7000 }),
    becomes: "Transient too_many_requests",
    after: "7 seconds",
    because: "the server says when"
  },
  {
    error: new KubeError.TooManyRequests({ ...answer(429, "", "…"), retryAfterMs: 86_400_000 }),
    becomes: "Transient too_many_requests",
    after: "5 minutes",
    because: "nobody waits for a day on a server's word"
  },
  {
    error: new KubeError.TooManyRequests({ ...answer(429, "", "…"), retryAfterMs: 0 }),
    becomes: "Transient too_many_requests",
    because: "at once is no patience"
  },
  {
    error: new KubeError.TooManyRequests({ ...answer(429, "", "…"), retryAfterMs: undefined }),
    becomes: "Transient too_many_requests",
    because: "the server does not say when"
  },
  {
    error: new KubeError.Timeout({ ...request, deadlineMs: 30_000 }),
    becomes: "Transient timeout",
    because: "it may be slow only now"
  },
  {
    error: new KubeError.Unreachable({ ...request, cause: new Error("ECONNRESET") }),
    becomes: "Transient unreachable",
    because: "networks heal"
  },
  { error: broken(500, "etcd has no leader"), becomes: "Transient server_error", because: "servers heal" },
  {
    error: broken(500, 'Internal error occurred: failed calling webhook "x": connection refused'),
    becomes: "Transient admission_unavailable",
    because: "the webhook is to blame, not the server"
  },
  {
    error: broken(500, "failed to create typed patch object (/s; /v1, Kind=Service): .spec.portss: not declared"),
    becomes: "Terminal invalid_object",
    because: "an apply with an unknown field is answered with 500"
  }
]

describe("KubeFailure", () => {
  it.each(rows)("P5: $becomes, since $because", ({ after, becomes, error }) => {
    const failure = KubeFailure.classify(error)

    assert.strictEqual(`${failure._tag} ${failure.reason}`, becomes)
    assert.deepStrictEqual(failure.after, after === undefined ? undefined : Duration.fromInputUnsafe(after))
    assert.strictEqual(failure.cause, error)
  })

  it("P5: every member of the client's union is in the table", () => {
    const tags = Object.values(KubeError).flatMap((member) =>
      typeof member === "function" && member.prototype instanceof Error ? [member.name] : []
    )
    const covered = new Set<string>(rows.map(({ error }) => error._tag))

    assert.deepStrictEqual(
      tags.filter((tag) => tag !== "describe" && !covered.has(tag)),
      []
    )
  })

  it("P5: a missing permission names the verb and the kind in why", () => {
    const failure = KubeFailure.classify(forbidden('User "bob" cannot create resource "configmaps" in API group ""'))

    assert.include(failure.why, "missing permission: create configmaps in namespace shop")
    assert.strictEqual(
      failure.message,
      "The operator may not create configmaps/settings; its administrator has to allow it."
    )
  })

  it("P5: the fields of an invalid object are named once each, and a path that is no identifier is left out", () => {
    const failure = KubeFailure.classify(invalid("…", "spec.a", "spec.b[0].c", "spec.a", "data[it's secret]"))

    assert.strictEqual(
      failure.message,
      "The cluster refuses configmaps/settings: spec.a, spec.b[0].c cannot be as given."
    )
  })

  it("P5: the field of an apply that a built-in kind does not know is named", () => {
    const failure = KubeFailure.classify(
      broken(500, "failed to create typed patch object (/s; /v1, Kind=Service): .spec.portss: not declared")
    )

    assert.include(failure.message, "spec.portss cannot be as given")
  })

  it("P3: what the server said is in why and nowhere that users see", () => {
    const word = "hunter2"
    const errors = rows.map(({ error }) =>
      "detail" in error ? Object.assign(error, { detail: `${error.detail} ${word}` }) : error
    )

    for (const error of errors) {
      const failure = KubeFailure.classify(error)
      assert.notInclude(JSON.stringify(Disposition.show(failure)), word)
      if ("detail" in error) assert.include(failure.why, word)
    }
  })

  it.effect("P5: an effect's dispositions pass through untouched", () =>
    Effect.gen(function* () {
      const own = Disposition.vocabulary("test", { no_room: Disposition.terminal("No room.") }).no_room()

      const kept = yield* Effect.flip(KubeFailure.classified(Effect.fail(own)))
      const made = yield* Effect.flip(KubeFailure.classified(Effect.fail(forbidden(""))))

      assert.strictEqual(kept, own)
      assert.strictEqual(made.reason, "forbidden")
    })
  )
})
