/** The layers of docs/decisions/0002-layers.md: imports point down only, and never in a circle. */
const core =
  "^packages/provisioners/src/(Identifier|Disposition|Provisioner|Progress|Backoff|internal/(failure|compose|pass))\\.ts$"

/** A package's sources may import only these packages of ours. */
const below = {
  kube: [],
  provisioners: ["kube"],
  testing: ["kube"],
  "shared-components": ["kube", "provisioners"],
  "db-provider": ["kube", "provisioners"],
  operator: ["kube", "provisioners", "shared-components", "db-provider"]
}

const layers = Object.entries(below).map(([name, allowed]) => ({
  name: `layer-${name}`,
  severity: "error",
  comment: `@berth/${name} may import ${allowed.length === 0 ? "no other package of ours" : allowed.join(", ")}`,
  from: { path: `^packages/${name}/src/` },
  to: { path: "^packages/", pathNot: `^packages/(${[name, ...allowed].join("|")})/` }
}))

export default {
  forbidden: [
    ...layers,
    { name: "no-circular", severity: "error", from: {}, to: { circular: true } },
    {
      name: "core-imports-only-effect",
      severity: "error",
      comment: "the contract is usable without Kubernetes",
      from: { path: core },
      to: { pathNot: [core, "^node_modules/effect/"] }
    },
    {
      name: "no-foreign-internals",
      severity: "error",
      comment: "what lies in src/internal belongs to its package",
      from: { path: "^packages/([^/]+)/" },
      to: { path: "^packages/([^/]+)/src/internal/", pathNot: "^packages/$1/" }
    },
    { name: "not-to-unresolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
    {
      name: "no-undeclared-dependency",
      severity: "error",
      from: { path: "^packages/[^/]+/src/" },
      to: { dependencyTypes: ["npm-no-pkg", "npm-unknown", "npm-dev"], pathNot: "^node_modules/effect/" }
    }
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)dist/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.base.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["@berth/source", "import", "node", "default"],
      extensions: [".ts", ".mjs", ".js", ".d.ts"]
    }
  }
}
