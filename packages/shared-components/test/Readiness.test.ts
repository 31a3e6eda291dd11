import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as lateness from "../src/internal/environments/lateness.ts"
import * as Readiness from "../src/Readiness.ts"
import * as specs from "./specs.ts"

/** Answers with this status, and with a Location that nobody should follow. */
const server = (status: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const asked: Array<string> = []
      const listener = createServer(({ url = "" }, answer) => {
        asked.push(url)
        answer.writeHead(status, { location: "/elsewhere" }).end()
      })
      await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve))
      const address = listener.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      return { asked, listener, url: `http://127.0.0.1:${port}` }
    }),
    ({ listener }) => Effect.promise(() => new Promise((resolve) => listener.close(resolve)))
  )

const place = (values: object) => ({
  environment: {
    metadata: { name: "a" },
    spec: specs.environment({ templateRef: { name: "shop" }, values: { web: values } })
  },
  namespace: "env-a",
  offers: new Map(),
  url: undefined
})

const checked = (url: string, values: object, httpGet: object = {}) => {
  const [web] = specs.template({ name: "web", readiness: { httpGet: { url, ...httpGet } } }).components
  return web === undefined ? Effect.die("no component") : Effect.flip(Readiness.check(place(values), web, 0))
}

const local = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.provideService(self, Readiness.refusedNetworks, [])

describe("Readiness", () => {
  it.live(
    "S26: a component is ready when its URL answers with the status that is wanted, and no redirect is followed",
    () =>
      Effect.gen(function* () {
        const { asked, url } = yield* server(302)
        const values = { url }
        const httpGet = { url: "{{ .Values.url }}/live", status: 302 }
        const [web] = specs.template({ name: "web", readiness: { httpGet } }).components

        if (web !== undefined) yield* Readiness.check(place(values), web, 0)
        const failure = yield* checked("{{ .Values.url }}/ready", values)

        assert.deepInclude(failure, { _tag: "Yield", reason: "not_answering", why: "the status is 302, not 200" })
        assert.deepStrictEqual(asked, ["/live", "/ready"])
      }).pipe(local, Effect.scoped)
  )

  it.live("S26: the operator's own machine is not asked, by address or by name", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* server(200)

      const byAddress = yield* checked("{{ .Values.url }}", { url })
      const byName = yield* checked("{{ .Values.url }}", { url: url.replace("127.0.0.1", "localhost") })

      for (const { reason, why } of [byAddress, byName]) {
        assert.strictEqual(reason, "not_answering")
        assert.include(why, "refused network")
      }
      assert.deepStrictEqual(asked, [])
    }).pipe(Effect.scoped)
  )

  it.live("S26: what is rendered to no URL of HTTP waits for somebody", () =>
    Effect.gen(function* () {
      for (const url of ["file:///etc/passwd", "web"]) {
        const failure = yield* checked("{{ .Values.url }}", { url })
        assert.deepInclude(failure, { _tag: "UserActionRequired", reason: "readiness_invalid" })
      }
    })
  )
})

describe("A deployment that takes long", () => {
  const spec = specs.environmentTemplate({
    deployTimeout: "10m",
    components: [{ name: "web" }, specs.db]
  })
  const entry = (reason: string, times: { readonly sinceMs: number; readonly waitingSinceMs: number }) => ({
    phase: "provision" as const,
    failure: { disposition: "Yield" as const, vocabulary: "v", reason, message: "" },
    ...times
  })
  const limitMs = 600_000
  const early = { sinceMs: 1_000, waitingSinceMs: 1_000 }

  it.each([
    {
      component: "web",
      reason: "deploying",
      times: early,
      nowMs: limitMs + 999,
      late: false,
      since: "its time is not up"
    },
    {
      component: "web",
      reason: "deploying",
      times: early,
      nowMs: limitMs + 1_000,
      late: true,
      since: "its time is up"
    },
    {
      component: "web",
      reason: "not_answering",
      times: { sinceMs: limitMs, waitingSinceMs: 1_000 },
      nowMs: limitMs + 1_000,
      late: true,
      since: "another reason does not start it anew"
    },
    {
      component: "db",
      reason: "waiting_for_place",
      times: early,
      nowMs: 99 * limitMs,
      late: false,
      since: "who waits for a place does not fail"
    },
    {
      component: "db",
      reason: "provisioning_slice",
      times: { sinceMs: limitMs, waitingSinceMs: 1_000 },
      nowMs: limitMs + 1_000,
      late: false,
      since: "the wait for a place does not count"
    }
  ])("S26, S2: is late: $late, since $since", ({ component, late, nowMs, reason, times }) => {
    assert.strictEqual(lateness.isLate(spec, component, entry(reason, times), nowMs), late)
  })
})
