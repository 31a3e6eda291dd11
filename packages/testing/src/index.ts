export * as Postgres from "./Postgres.ts"
