/**
 * What works inside a cluster without being asked: the garbage collector, the namespaces, the definitions of kinds.
 *
 * They act on the changes of a request before its answer is sent, so that a test has nothing to wait for.
 */
import type { Api } from "./api.ts"
import { tendClaims } from "./claims.ts"
import { tendDefinitions } from "./definitions.ts"
import { collectGarbage } from "./garbage.ts"
import { tendNamespace } from "./namespaces.ts"
import type { Change } from "./store.ts"

/** @internal */
export class Controllers {
  readonly #api: Api
  readonly #changes: Array<Change> = []
  readonly #namespaces = new Set<string>()
  #busy = false

  constructor(api: Api) {
    this.#api = api
    api.store.subscribe((change) => {
      this.#changes.push(change)
    })
  }

  /** Works until nothing is left to do. */
  settle(): void {
    if (this.#busy) return
    this.#busy = true
    try {
      while (this.#changes.length > 0 || this.#namespaces.size > 0) this.#step()
    } finally {
      this.#busy = false
    }
  }

  #step(): void {
    for (const change of this.#changes.splice(0)) {
      tendDefinitions(this.#api, change)
      collectGarbage(this.#api, change)
      tendClaims(this.#api, change)
      const name = change.storage === "namespaces" ? change.object.metadata.name : change.object.metadata.namespace
      if (name !== undefined && (change.storage === "namespaces" || change.type === "DELETED"))
        this.#namespaces.add(name)
    }
    // A namespace is looked at once for many changes: looking reads all that is in it.
    if (this.#changes.length > 0) return
    const names = [...this.#namespaces]
    this.#namespaces.clear()
    for (const name of names) tendNamespace(this.#api, name)
  }
}
