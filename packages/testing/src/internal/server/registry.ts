/**
 * The kinds that the server serves at the moment.
 */
import { groupOf, type Obj } from "./json.ts"
import type { Resource } from "./resource.ts"

/** @internal */
export class Registry {
  readonly #byPath = new Map<string, Resource>()
  readonly #byStorage = new Map<string, Resource>()
  readonly #byKind = new Map<string, Resource>()
  /** Raised with every change, for what is worked out from the whole. */
  revision = 0

  constructor(resources: ReadonlyArray<Resource>) {
    this.add(resources)
  }

  get all(): ReadonlyArray<Resource> {
    return [...this.#byPath.values()].filter((resource) => resource.served)
  }

  /** What is served at a path. */
  find(group: string, version: string, plural: string): Resource | undefined {
    const found = this.#byPath.get(`${group}/${version}/${plural}`)
    return found?.served === true ? found : undefined
  }

  /** The resource whose version is the stored one. */
  stored(storage: string): Resource | undefined {
    return this.#byStorage.get(storage)
  }

  /** The resource of a kind, in any version. */
  kind(apiVersion: string, kind: string): Resource | undefined {
    return this.#byKind.get(`${groupOf(apiVersion)}/${kind}`)
  }

  of(object: Obj): Resource | undefined {
    return this.kind(object.apiVersion, object.kind)
  }

  /** Adds versions of kinds, the preferred one of each kind first. */
  add(resources: ReadonlyArray<Resource>): void {
    this.revision += 1
    for (const resource of resources) {
      this.#byPath.set(`${resource.group}/${resource.version}/${resource.plural}`, resource)
      const stored = `${resource.group === "" ? "" : `${resource.group}/`}${resource.version}`
      if (stored === resource.storageApiVersion) this.#byStorage.set(resource.storage, resource)
      const kind = `${resource.group}/${resource.kind}`
      if (!this.#byKind.has(kind)) this.#byKind.set(kind, resource)
    }
  }

  /** Takes away every version of what is stored there. */
  drop(storage: string): void {
    this.revision += 1
    for (const map of [this.#byPath, this.#byStorage, this.#byKind]) {
      for (const [name, resource] of map) if (resource.storage === storage) map.delete(name)
    }
  }
}
