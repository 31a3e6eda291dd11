export * as Consumer from "./Consumer.ts"
export * as Database from "./Database.ts"
export * as Names from "./Names.ts"
export * as Shard from "./Shard.ts"
