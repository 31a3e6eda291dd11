export * as Cluster from "./Cluster.ts"
export * as EmbeddedCluster from "./EmbeddedCluster.ts"
export * as Postgres from "./Postgres.ts"
