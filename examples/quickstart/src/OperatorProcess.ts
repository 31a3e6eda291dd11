/** The operator, and the image of the Jobs, which is the operator's. */
import { fileURLToPath } from "node:url"
import * as ProgramProcess from "./ProgramProcess.ts"

const main = fileURLToPath(new URL("../../../packages/operator/src/main.ts", import.meta.url))

/** A folder with a program `berth`, for the Jobs. */
export const imageFolder = fileURLToPath(new URL("../bin", import.meta.url))

/** What that program needs to know. */
export const imageEnvironment: Readonly<Record<string, string>> = {
  ...ProgramProcess.compileCache,
  BERTH_NODE: ProgramProcess.command(main).program,
  BERTH_MAIN: main
}

/** Starts the operator and waits until it serves. */
export const start = (kubeconfig: string, log?: (chunk: Buffer) => void) =>
  ProgramProcess.start({
    program: "operator",
    main,
    args: ["--kubeconfig", kubeconfig],
    says: /health and metrics are on ([^\s"]+)/u,
    log
  })
