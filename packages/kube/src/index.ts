export * as Client from "./Client.ts"
export * as KubeError from "./KubeError.ts"
export * as KubeObject from "./KubeObject.ts"
export * as ResourceType from "./ResourceType.ts"
