import { assert, describe, it } from "@effect/vitest"
import * as TemplateCheck from "../src/TemplateCheck.ts"
import { db, environment, environmentTemplate, postgres, sharedComponent, template, world } from "./specs.ts"

const shown = (problems: ReadonlyArray<TemplateCheck.Problem>) =>
  problems.map((problem) => `${problem.reason} ${TemplateCheck.line(problem)}`)

/** The problems of one variable of a component beside the slice `db`. */
const ofVariable = (source: string) =>
  shown(TemplateCheck.environmentTemplate(template(db, { name: "app", env: { X: source } }), world()))

const place = "spec.components[1].env.X"

describe("TemplateCheck of an EnvironmentTemplate", () => {
  it("S23: templates that read only what is there have no problems", () => {
    const found = TemplateCheck.environmentTemplate(
      template(
        db,
        {
          name: "app",
          env: {
            URL: "{{ .Components.db.URL }}",
            WITH: "{{ with .Components.db }}{{ .PASSWORD | urlEncode }}{{ end }}",
            INDEX: '{{ index .Components "db" "URL" }}',
            VARIABLE: "{{ $c := .Components }}{{ $c.db.URL }}",
            NAME: "{{ .Env.Name }}{{ .Env.Slug }}{{ .Env.Namespace }}{{ .Env.Url }}",
            SOURCE: "{{ .Source.Repo }}{{ .Source.Branch }}{{ .Source.Sha }}",
            VALUES: "{{ .Values.any.thing }}{{ range .Values.hosts }}{{ .name }}{{ end }}"
          }
        },
        {
          name: "web-ui",
          env: { API: "{{ .Components.app.URL }}" },
          readiness: { httpGet: { url: "{{ .Env.Url }}/health" } }
        },
        {
          name: "chart",
          helm: { path: "charts/x", values: { a: [{ b: "{{ .Components.web-ui.API }}" }], n: 3 } }
        }
      ),
      world()
    )

    assert.deepStrictEqual(shown(found), [])
  })

  const rows = [
    {
      source: "{{ .Env.Nam }}",
      problem: `UnknownKey ${place}:1:4: .Env.Nam does not exist here; there are Name, Slug, Namespace, Url`
    },
    {
      source: "{{ .Slice.Id }}",
      problem: `UnknownKey ${place}:1:4: .Slice does not exist here; there are Env, Source, Values, Components`
    },
    {
      source: "a\n  {{ .Components.dbb.URL }}",
      problem: `UnknownComponent ${place}:2:6: there is no component dbb; there are db, app`
    },
    {
      source: "{{ .Components.db.URI }}",
      problem: `UnknownKey ${place}:1:4: .Components.db.URI does not exist here; there are URL, PASSWORD`
    },
    {
      source: "{{ with .Components.db }}{{ .URI }}{{ end }}",
      problem: `UnknownKey ${place}:1:29: .Components.db.URI does not exist here; there are URL, PASSWORD`
    },
    {
      source: "{{ range .Components }}{{ .URL }}{{ end }}",
      problem: `DynamicKey ${place}:1:27: .Components[…] is not known before it is rendered; name the key`
    },
    {
      source: "{{ index .Components .Env.Name }}",
      problem: `DynamicKey ${place}:1:4: .Components[…] is not known before it is rendered; name the key`
    },
    {
      source: "{{ .Components.db }}",
      problem: `IncompletePath ${place}:1:4: .Components.db is not a value; name one of its keys`
    },
    { source: "{{ . }}", problem: `IncompletePath ${place}:1:4: . is not a value; name one of its keys` },
    { source: "{{ .Env.Name.x }}", problem: `UnknownKey ${place}:1:4: .Env.Name.x does not exist here` },
    {
      source: "{{ .Env.constructor }}",
      problem: `UnknownKey ${place}:1:4: .Env.constructor does not exist here; there are Name, Slug, Namespace, Url`
    },
    { source: "{{ .Env.Name | nope }}", problem: `UnknownFunction ${place}:1:16: there is no function nope` },
    { source: "{{ .Env.Name", problem: `TemplateSyntax ${place}:1:1: an action is not closed` },
    { source: "{{ $x }}", problem: `UnknownVariable ${place}:1:4: the variable $x is not declared` },
    {
      source: "{{ if false }}{{ lower }}{{ end }}",
      problem: `WrongArgument ${place}:1:18: lower takes 1 argument, not 0`
    },
    {
      source: "{{ if false }}{{ $x = 1 }}{{ end }}",
      problem: `UnknownVariable ${place}:1:18: the variable $x is not declared`
    }
  ]
  it.each(rows)("S23: $source is refused with its place: $problem", ({ problem, source }) => {
    assert.deepStrictEqual(
      ofVariable(source).filter((each) => !each.startsWith("UnknownComponent") || source.includes("dbb")),
      [problem]
    )
  })

  it("S23: a text within structured values has the path of its field", () => {
    const helm = { path: "charts/x", values: { list: [{ "a.b": "{{ .Nope }}" }] } }

    const found = TemplateCheck.environmentTemplate(template({ name: "chart", helm }), world())

    assert.deepStrictEqual(
      found.map(({ where }) => where),
      ['spec.components[0].helm.values.list[0]["a.b"]:1:4']
    )
  })

  it("S23: without an ingress there is no URL", () => {
    const of = environmentTemplate({ components: [{ name: "app", env: { X: "{{ .Env.Url }}" } }] })

    assert.deepStrictEqual(shown(TemplateCheck.environmentTemplate(of, world())), [
      "UnknownKey spec.components[0].env.X:1:4: .Env.Url does not exist here; there are Name, Slug, Namespace"
    ])
  })

  it("S23: a shared component or provider that is missing is named, and its keys are not judged", () => {
    const of = template(
      { name: "db", sharedComponentRef: { name: "redis" } },
      { name: "app", env: { X: "{{ .Components.db.ANY }}" } }
    )
    const orphan = { ...world(), sharedComponent: () => sharedComponent({ providerRef: { name: "gone" } }) }

    assert.deepStrictEqual(shown(TemplateCheck.environmentTemplate(of, world())), [
      "MissingSharedComponent spec.components[0].sharedComponentRef.name: there is no SharedComponent redis"
    ])
    assert.deepStrictEqual(shown(TemplateCheck.environmentTemplate(of, orphan)), [
      "MissingProvider spec.components[0].sharedComponentRef.name: its SharedComponent's provider gone does not exist"
    ])
  })

  it("S23: outputs of the provision Job are keys of the binding", () => {
    const of = template(db, { name: "app", env: { X: "{{ .Components.db.BUCKET }}" } })

    assert.deepStrictEqual(TemplateCheck.environmentTemplate(of, world(postgres({ outputs: ["BUCKET"] }))), [])
  })

  it("S22, S23: circles and unknown names are problems of the template", () => {
    const of = template(
      { name: "a", dependsOn: ["nope"], env: { X: "{{ .Components.b.Y }}" } },
      { name: "b", env: { Y: "{{ .Components.a.X }}" } }
    )

    assert.deepStrictEqual(shown(TemplateCheck.environmentTemplate(of, world())), [
      "UnknownComponent spec.components[0].dependsOn[0]: there is no component nope; there are a, b",
      "DependencyCycle spec.components[1].env.Y:1:4: components need each other in a circle: a -> b -> a"
    ])
  })

  it("S23: the list of problems is bounded, and so is its summary", () => {
    const env = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`X${index}`, "{{ .Nope }}"]))

    const found = TemplateCheck.environmentTemplate(template({ name: "app", env }), world())

    assert.lengthOf(found, TemplateCheck.problemsMax)
    const lines = TemplateCheck.summary(found).split("\n")
    assert.lengthOf(lines, 11)
    assert.strictEqual(lines[10], "and 54 more")
  })
})

const ofProvider = (fields: Readonly<Record<string, unknown>>) => shown(TemplateCheck.provider(postgres(fields)))
const script = (source: string) => ({ provision: { image: "x", script: source } })

describe("TemplateCheck of a SharedComponentProvider", () => {
  it("S23: a provider that reads only what is there has no problems", () => {
    const found = ofProvider({
      provision: {
        image: "x",
        script:
          "CREATE ROLE {{ .Slice.Id | sqlIdent }} PASSWORD {{ .Env.GeneratedSecret | sqlLiteral }} -- {{ .Env.Name }} {{ .Attempt }}",
        env: [{ name: "PGHOST", value: "{{ .Instance.host }}" }]
      },
      check: { image: "x", script: "{{ .Instance.user }}{{ .Parameters.size }}" },
      outputs: ["TOKEN"],
      parameters: { type: "object", additionalProperties: false, properties: { size: { type: "integer" } } },
      binding: { type: "postgresql", URL: "{{ .Host }}:{{ .Port }}/{{ .Outputs.TOKEN }}{{ .Parameters.size }}" }
    })

    assert.deepStrictEqual(found, [])
  })

  const rows = [
    {
      of: script("{{ .Host }}"),
      problem:
        "UnknownKey spec.provision.script:1:4: .Host does not exist here; there are Env, Slice, Attempt, Parameters, Instance"
    },
    {
      of: script("{{ .Instance.usr }}"),
      problem:
        "UnknownKey spec.provision.script:1:4: .Instance.usr does not exist here; there are host, port, user, password"
    },
    {
      of: script("{{ .Env.Namespace }}"),
      problem:
        "UnknownKey spec.provision.script:1:4: .Env.Namespace does not exist here; there are Name, Slug, GeneratedSecret"
    },
    {
      of: script("{{ range .Instance }}{{ . }}{{ end }}"),
      problem: "DynamicKey spec.provision.script:1:25: .Instance[…] is not known before it is rendered; name the key"
    },
    {
      of: { check: { image: "x", script: "{{ .Slice.Id }}" } },
      problem: "UnknownKey spec.check.script:1:4: .Slice does not exist here; there are Attempt, Parameters, Instance"
    },
    {
      of: { deprovision: { image: "x", script: "y", env: [{ name: "A", value: "{{ .X }}" }] } },
      problem:
        "UnknownKey spec.deprovision.env[0].value:1:4: .X does not exist here; there are Env, Slice, Attempt, Parameters, Instance"
    },
    {
      of: { binding: { URL: "{{ .Outputs.X }}" }, outputs: ["Y"] },
      problem: "UnknownKey spec.binding.URL:1:4: .Outputs.X does not exist here; there are Y"
    },
    {
      of: { binding: { type: "{{ .Env.Name }}" } },
      problem: "InvalidBindingType spec.binding.type: a type is a plain word such as postgresql"
    },
    {
      of: {
        ...script("{{ .Parameters.siz }}"),
        parameters: { type: "object", additionalProperties: false, properties: { size: {} } }
      },
      problem: "UnknownKey spec.provision.script:1:4: .Parameters.siz does not exist here; there are size"
    },
    {
      of: { external: { secretRef: { name: "pg" }, keys: ["url"] }, binding: { HOST: "{{ .Host }}" } },
      problem:
        "UnknownKey spec.binding.HOST:1:4: .Host does not exist here; there are Env, Slice, Attempt, Parameters, Instance, Outputs"
    }
  ]
  it.each(rows)("S23: $problem", ({ of, problem }) => {
    assert.deepStrictEqual(ofProvider(of), [problem])
  })

  it("S23: parameters of an open schema and keys of a Secret that are not named are not judged", () => {
    const of = {
      ...script("{{ .Parameters.any.thing }}{{ .Instance.whatever }}"),
      external: { secretRef: { name: "pg" } },
      parameters: { type: "object", properties: { size: {} } }
    }

    assert.deepStrictEqual(ofProvider(of), [])
  })

  it("S23: a schema that is none is refused", () => {
    const [found, ...more] = TemplateCheck.provider(postgres({ parameters: { type: "objekt" } }))

    assert.deepInclude(found, { reason: "InvalidParameterSchema", where: "spec.parameters" })
    assert.deepStrictEqual(more, [])
  })
})

describe("TemplateCheck of a SharedComponent", () => {
  const of = (parameters: unknown, fields: Readonly<Record<string, unknown>>) =>
    shown(
      TemplateCheck.sharedComponent(
        sharedComponent({ providerRef: { name: "postgres" }, parameters }),
        postgres(fields)
      )
    )
  const parameters = {
    type: "object",
    additionalProperties: false,
    required: ["region"],
    properties: { region: { type: "string" }, size: { type: "integer", default: 3 }, note: { type: "string" } }
  }

  it("S23: parameters that fit, with defaults filled in, have no problems", () => {
    assert.deepStrictEqual(of({ region: "eu" }, { ...script("{{ .Parameters.size }}"), parameters }), [])
    assert.deepStrictEqual(
      of({ region: "eu" }, { ...script("{{ if false }}{{ .Parameters.note }}{{ end }}"), parameters }),
      []
    )
  })

  it("S23: parameters that do not fit are named", () => {
    assert.deepStrictEqual(of({ size: "big", extra: 1 }, { parameters }), [
      "InvalidParameters spec.parameters: must have required property 'region'",
      "InvalidParameters spec.parameters.extra: is not a parameter",
      "InvalidParameters spec.parameters.size: must be integer"
    ])
  })

  it("S23: a parameter that a template reads has a value or a default", () => {
    assert.deepStrictEqual(of({ region: "eu" }, { ...script("{{ .Parameters.note }}"), parameters }), [
      "MissingValue spec.parameters.note: .Parameters.note has no value, and is read by the SharedComponentProvider postgres at spec.provision.script:1:4"
    ])
  })

  it("S23: a provider that is missing is named", () => {
    const found = TemplateCheck.sharedComponent(sharedComponent({ providerRef: { name: "gone" } }), undefined)

    assert.deepStrictEqual(shown(found), [
      "MissingProvider spec.providerRef.name: there is no SharedComponentProvider gone"
    ])
  })
})

describe("TemplateCheck of an Environment", () => {
  const app = {
    name: "app",
    env: { X: "{{ .Values.replicas }}{{ .Source.Branch }}", Y: "{{ if .Values.debug }}{{ .Values.level }}{{ end }}" }
  }
  const of = (fields: Readonly<Record<string, unknown>>) =>
    shown(
      TemplateCheck.environment(environment({ templateRef: { name: "web" }, ...fields }), template(db, app), world())
    )
  const enough = { values: { app: { replicas: 1, debug: false } }, source: { branch: "main" } }

  it("S23: an environment that gives what its template reads has no problems", () => {
    const env = { app: { A: { value: "x" }, B: { sliceKeyRef: { component: "db", key: "URL" } } } }

    assert.deepStrictEqual(of({ ...enough, env }), [])
  })

  it("S23: values and parts of the source that are read and missing are named as fields of the environment, those behind a condition are not", () => {
    assert.deepStrictEqual(of({ values: { app: {} } }), [
      "MissingValue spec.values.app.replicas: .Values.replicas has no value, and is read by the EnvironmentTemplate web at spec.components[1].env.X:1:4",
      "MissingValue spec.values.app.debug: .Values.debug has no value, and is read by the EnvironmentTemplate web at spec.components[1].env.Y:1:7",
      "MissingValue spec.source.branch: .Source.Branch has no value, and is read by the EnvironmentTemplate web at spec.components[1].env.X:1:26"
    ])
  })

  it("S23: components and keys that are not there are named", () => {
    const env = {
      nope: {},
      app: { A: { sliceKeyRef: { component: "db", key: "URI" } }, B: { sliceKeyRef: { component: "app", key: "X" } } }
    }

    assert.deepStrictEqual(of({ ...enough, values: { ...enough.values, other: {} }, env }), [
      "UnknownComponent spec.values.other: there is no component other; there are db, app",
      "UnknownComponent spec.env.nope: there is no component nope; there are db, app",
      "UnknownKey spec.env.app.A.sliceKeyRef.key: db has no key URI; there are URL, PASSWORD",
      "UnknownKey spec.env.app.B.sliceKeyRef.component: the component app is not a slice",
      "DependencyCycle spec.env.app.B.sliceKeyRef.component: components need each other in a circle: app -> app"
    ])
  })
})
