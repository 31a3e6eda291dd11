export * as Template from "./Template.ts"
