import { assert, describe, it } from "@effect/vitest"
import * as KubeObjects from "../src/KubeObject.ts"

const owner = { apiVersion: "example.com/v1", kind: "Team", metadata: { name: "a", uid: "1" } }
const reference = { apiVersion: "example.com/v1", kind: "Team", name: "a", uid: "1", controller: true }
const dependent = (ownerReferences: ReadonlyArray<KubeObjects.OwnerReference>) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "b", ownerReferences }
})

describe("KubeObject", () => {
  it("names the object that keeps another one", () => {
    assert.deepStrictEqual(KubeObjects.controllerReference(owner), reference)
    assert.isTrue(KubeObjects.isControlledBy(dependent([reference]), owner))
  })

  it("tells an object from another one of its name, and its keeper from other owners", () => {
    assert.isFalse(KubeObjects.isControlledBy(dependent([{ ...reference, uid: "2" }]), owner))
    assert.isFalse(KubeObjects.isControlledBy(dependent([{ ...reference, controller: false }]), owner))
    assert.isFalse(KubeObjects.isControlledBy(dependent([]), owner))
  })
})
