export * as Disposition from "./Disposition.ts"
export * as Identifier from "./Identifier.ts"
export * as Progress from "./Progress.ts"
export * as Provisioner from "./Provisioner.ts"
