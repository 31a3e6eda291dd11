/** Whose an object is that somebody changed: by the label that ObjectProvisioner gives it, or by its ownerReferences. */
import * as KubeObject from "@berth/kube/KubeObject"
import * as Watch from "@berth/kube/Watch"
import { Option } from "effect"
import { ownerLabel } from "../ObjectProvisioner.ts"
import * as sharedCaches from "./sharedCaches.ts"

/** The objects that a manager serves, by UID. One that no pass has seen yet has its first pass before it, and is not missed. */
export interface Owners {
  /** What a pass found under this name. */
  readonly note: (ref: KubeObject.Ref, found: Option.Option<KubeObject.KubeObject>) => void
  readonly of: (owned: KubeObject.KubeObject) => ReadonlyArray<KubeObject.Ref>
}

export const makeOwners = (): Owners => {
  const refs = new Map<string, KubeObject.Ref>()
  const uids = new Map<string, string>()
  return {
    note: (ref, found) => {
      const key = KubeObject.key(ref)
      const uid = Option.getOrUndefined(found)?.metadata.uid
      const before = uids.get(key)
      if (uid === before) return
      if (before !== undefined) refs.delete(before)
      if (uid === undefined) uids.delete(key)
      else {
        refs.set(uid, ref)
        uids.set(key, uid)
      }
    },
    of: ({ metadata }) =>
      [metadata.labels?.[ownerLabel], ...(metadata.ownerReferences ?? []).map(({ uid }) => uid)].flatMap((uid) => {
        const ref = uid === undefined ? undefined : refs.get(uid)
        return ref === undefined ? [] : [ref]
      })
  }
}

// What has no owner does not even get here.
const definitionOf = sharedCaches.make({ metadataOnly: true, labelSelector: ownerLabel })

/** Wakes the owner of an object of this source when it changes. */
export const waker = (source: sharedCaches.Source, owners: Owners): Watch.Watch =>
  definitionOf(source).with((definition) => Watch.mapped(definition, owners.of))
