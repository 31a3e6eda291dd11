/**
 * Why no connection could be made from what was found. Each message is a sentence to act on.
 *
 * **Guarantees**
 * - K6: no error holds a part of a kubeconfig other than the names of contexts, clusters and users, and paths.
 *
 * @since 0.1.0
 */
import { Data } from "effect"

/**
 * A kubeconfig cannot be read.
 *
 * @category errors
 * @since 0.1.0
 */
export class KubeconfigUnreadable extends Data.TaggedError("KubeconfigUnreadable")<{
  readonly path: string
  /** Such as `ENOENT`. */
  readonly code: string
}> {
  override get message() {
    return this.code === "ENOENT"
      ? `There is no kubeconfig at ${this.path}: check the path, or the variable KUBECONFIG.`
      : `The kubeconfig ${this.path} cannot be read (${this.code}): check who may read it.`
  }
}

/**
 * A kubeconfig is not what it should be.
 *
 * @category errors
 * @since 0.1.0
 */
export class KubeconfigInvalid extends Data.TaggedError("KubeconfigInvalid")<{
  /** Its path, or `the given kubeconfig`. */
  readonly source: string
  /** What is wrong and where, without the values. */
  readonly problem: string
}> {
  override get message() {
    return `${this.source} is not a valid kubeconfig: ${this.problem}.`
  }
}

/**
 * The context that was asked for, or a thing that it names, is not in the kubeconfig.
 *
 * @category errors
 * @since 0.1.0
 */
export class ContextMissing extends Data.TaggedError("ContextMissing")<{
  readonly source: string
  readonly what: "context" | "cluster" | "user"
  /** Empty where the kubeconfig has no current context. */
  readonly name: string
  /** The names that there are. */
  readonly known: ReadonlyArray<string>
}> {
  override get message() {
    const known = this.known.length === 0 ? "it has none" : `it has ${this.known.join(", ")}`
    return this.name === ""
      ? `${this.source} has no current context (${known}): name one, or run kubectl config use-context.`
      : `${this.source} has no ${this.what} named ${this.name}: ${known}.`
  }
}

/**
 * A kubeconfig that came as text names files or a command, which only a trusted one may.
 *
 * @category errors
 * @since 0.1.0
 */
export class KubeconfigUntrusted extends Data.TaggedError("KubeconfigUntrusted")<{
  readonly source: string
  /** Such as `user.exec`. */
  readonly field: string
}> {
  override get message() {
    return `${this.source} uses ${this.field}, which reads files or runs commands on this machine: put the data into the kubeconfig itself, or mark it as trusted.`
  }
}

/**
 * The program does not run in a Pod with a service account.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotInCluster extends Data.TaggedError("NotInCluster")<{
  /** The variable or file that is not there. */
  readonly missing: string
}> {
  override get message() {
    return `This does not run in a cluster: ${this.missing} is not there. In a Pod, check automountServiceAccountToken.`
  }
}

/**
 * There is nothing that says which cluster is meant.
 *
 * @category errors
 * @since 0.1.0
 */
export class ClusterNotFound extends Data.TaggedError("ClusterNotFound")<{
  /** Where it was looked for. */
  readonly looked: ReadonlyArray<string>
}> {
  override get message() {
    return `No cluster was found (looked at ${this.looked.join(", ")}): set KUBECONFIG to the path of a kubeconfig, or run in a Pod with a service account.`
  }
}

/**
 * Why there is no connection.
 *
 * @category errors
 * @since 0.1.0
 */
export type ConnectionError =
  | KubeconfigUnreadable
  | KubeconfigInvalid
  | ContextMissing
  | KubeconfigUntrusted
  | NotInCluster
  | ClusterNotFound
