/**
 * A Lease that lets one writer at a time register consumers of a shared component.
 *
 * It only keeps writers from wasting each other's work: what must never be wrong is kept by compare-and-swap on the
 * {@link Ledger}, so a Lease that is lost, stolen or held twice does no harm.
 *
 * **Guarantees**
 * - S3: a Lease expires by how long it was seen unchanged on this process's monotonic clock. Neither the times that are written in it
 *   nor anybody's wall clock matter, so a Lease that is malformed or held by something else is taken over after the same time.
 * - A hold of this deployment's previous instance is taken over at once.
 * - Within a process a queue precedes the Lease, so that those who would lose do not poll.
 * - The hold is given up when the work ends, also when it fails or is interrupted.
 *
 * **Caveats**
 * - The work is interrupted after two thirds of the duration: the hold is not renewed, since registration takes a few requests.
 *
 * @since 0.1.0
 */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import { Clock, Context, DateTime, Duration, Effect, Layer, Option, Semaphore } from "effect"
import { Settings } from "./Settings.ts"

/**
 * @category services
 * @since 0.1.0
 */
export class ProvisionLeases extends Context.Service<
  ProvisionLeases,
  {
    /**
     * Runs `work` while this process holds the Lease. None: somebody else holds it, or the work took too long.
     */
    readonly withLease: <A, E, R>(
      name: string,
      work: Effect.Effect<A, E, R>
    ) => Effect.Effect<Option.Option<A>, E | KubeError.KubeError, R | Client>
  }
>()("@berth/shared-components/ProvisionLeases") {
  /**
   * **Details**: `duration` is how long a Lease must be seen unchanged before it is taken over. Default 30 s.
   *
   * @since 0.1.0
   */
  static readonly layer = (
    options: { readonly duration?: Duration.Input } = {}
  ): Layer.Layer<ProvisionLeases, never, Settings> =>
    Layer.effect(
      ProvisionLeases,
      Effect.map(Settings, (settings) => {
        const leases = new Map<string, Local>()
        const duration = Duration.fromInputUnsafe(options.duration ?? "30 seconds")
        return {
          withLease: (name, work) => {
            const local = leases.get(name) ?? { turn: Semaphore.makeUnsafe(1), seen: undefined }
            leases.set(name, local)
            return local.turn.withPermit(held({ name, local, settings, duration }, work))
          }
        }
      })
    )
}

/** What this process knows of one Lease. */
interface Local {
  readonly turn: Semaphore.Semaphore
  /** The version that was last seen in other hands, and since when, on the monotonic clock. */
  seen: { readonly resourceVersion: string; readonly sinceNanos: bigint } | undefined
}

interface Hold {
  readonly name: string
  readonly local: Local
  readonly settings: Settings["Service"]
  readonly duration: Duration.Duration
}

const held = <A, E, R>(hold: Hold, work: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    acquire(hold),
    Option.match({
      onNone: () => Effect.succeedNone,
      // Gives up before anybody may take the Lease over, so that two at work at once stay the exception.
      onSome: () => Effect.timeoutOption(work, Duration.times(hold.duration, 2 / 3))
    }),
    Option.match({ onNone: () => Effect.void, onSome: (lease) => release(lease) })
  )

const acquire = Effect.fnUntraced(function* (hold: Hold) {
  const client = yield* Client
  const namespace = hold.settings.managementNamespace
  const found = yield* optional(client.get(Builtin.Lease, { name: hold.name, namespace }), "NotFound")
  const spec = specOf(hold, Option.getOrUndefined(found), yield* DateTime.now)
  if (Option.isNone(found)) {
    const draft = { metadata: { name: hold.name, namespace }, spec }
    return yield* optional(client.create(Builtin.Lease, draft), "AlreadyExists")
  }
  if (!(yield* mayTake(hold, found.value))) return Option.none()
  // With the version that was judged: whoever changed the Lease meanwhile keeps it.
  return yield* optional(client.update(Builtin.Lease, { ...found.value, spec }), "Conflict")
})

/** None where the request fails with this one error, which means that somebody was faster. */
const optional = <A, R>(request: Effect.Effect<A, KubeError.KubeError, R>, lost: KubeError.KubeError["_tag"]) =>
  request.pipe(
    Effect.asSome,
    Effect.catch((error) => (error._tag === lost ? Effect.succeedNone : Effect.fail(error)))
  )

const mayTake = Effect.fnUntraced(function* ({ duration, local, settings }: Hold, lease: Builtin.Lease) {
  const holder = holderOf(lease)
  if (holder === "") return true
  // Ours, of a time before this: within the process the queue keeps two from being here at once.
  if (holder?.startsWith(`${settings.deployment}/`) === true) return true
  const resourceVersion = lease.metadata.resourceVersion ?? ""
  const now = yield* Clock.monotonicTimeNanos
  const seen = local.seen
  if (seen === undefined || seen.resourceVersion !== resourceVersion) {
    local.seen = { resourceVersion, sinceNanos: now }
    return false
  }
  return now - seen.sinceNanos >= Option.getOrElse(Duration.toNanos(duration), () => 0n)
})

/** Empty: nobody holds it. Undefined: what stands there is no holder's name. The type is not trusted: anybody may have written it. */
const holderOf = (lease: Builtin.Lease): string | undefined => {
  const holder: unknown = lease.spec?.holderIdentity
  if (holder === undefined || holder === null) return ""
  return typeof holder === "string" ? holder : undefined
}

const specOf = ({ duration, settings }: Hold, before: Builtin.Lease | undefined, now: DateTime.Utc) => {
  const transitions: unknown = before?.spec?.leaseTransitions
  return {
    holderIdentity: `${settings.deployment}/${settings.instance}`,
    leaseDurationSeconds: Math.ceil(Duration.toSeconds(duration)),
    acquireTime: microTime(now),
    renewTime: microTime(now),
    leaseTransitions: typeof transitions === "number" && Number.isInteger(transitions) ? transitions + 1 : 0
  }
}

/** Kubernetes' MicroTime wants six decimals. */
const microTime = (time: DateTime.Utc): string => DateTime.formatIso(time).replace(/(\.\d{3})Z$/u, "$1000Z")

/** A hold that cannot be given up expires by itself; if somebody took it meanwhile, the version tells, and it stays theirs. */
const release = (lease: Builtin.Lease) =>
  Client.use((client) => client.update(Builtin.Lease, { ...lease, spec: { ...lease.spec, holderIdentity: "" } })).pipe(
    Effect.catch((error) =>
      Effect.logDebug("could not give up a Lease", { lease: lease.metadata.name, error: error.message })
    ),
    Effect.asVoid
  )
