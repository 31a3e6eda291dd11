/**
 * The volumes of a Pod as folders: Secrets, ConfigMaps, fields of the Pod and tokens become files, once, when the Pod starts.
 */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { Effect } from "effect"
import { ConfigMissing, field, type Lookup } from "./podEnvironment.ts"
import type { DownwardFile, KeyedSource, Pod, ProjectedSource, Volume } from "./workloadTypes.ts"

interface File {
  readonly path: string
  readonly data: Buffer
  readonly mode: number | undefined
}

/** What volumes are made from. */
export interface Sources<E> {
  readonly lookup: Lookup<E>
  readonly token: (request: NonNullable<ProjectedSource["serviceAccountToken"]>) => Effect.Effect<string, E>
}

type Files<E> = Effect.Effect<ReadonlyArray<File>, E | ConfigMissing>

const keyed = Effect.fnUntraced(function* <E>(
  lookup: Lookup<E>,
  kind: "Secret" | "ConfigMap",
  { items, name = "", optional = false }: KeyedSource
): Effect.fn.Return<ReadonlyArray<File>, E | ConfigMissing> {
  const data = yield* lookup(kind, name)
  if (data === undefined) {
    return yield* optional
      ? Effect.succeed([])
      : new ConfigMissing({ why: `${kind.toLowerCase()} ${JSON.stringify(name)} not found` })
  }
  if (items === undefined || items.length === 0) {
    return [...data].map(([path, value]) => ({ path, data: value, mode: undefined }))
  }
  const absent = items.find(({ key }) => !data.has(key))
  if (absent !== undefined && !optional) {
    return yield* new ConfigMissing({ why: `references non-existent ${kind.toLowerCase()} key: ${absent.key}` })
  }
  return items.flatMap(({ key, mode, path }) => {
    const value = data.get(key)
    return value === undefined ? [] : [{ path, data: value, mode }]
  })
})

const downward = (pod: Pod, items: ReadonlyArray<DownwardFile> = []): Files<never> =>
  Effect.forEach(items, ({ fieldRef, mode, path }) => {
    const value = fieldRef === undefined ? undefined : field(pod, fieldRef.fieldPath)
    return value === undefined
      ? Effect.fail(new ConfigMissing({ why: `${path} comes from a field that is not supported here` }))
      : Effect.succeed({ path, data: Buffer.from(value), mode })
  })

const projected = <E>(pod: Pod, sources: Sources<E>, source: ProjectedSource): Files<E> => {
  if (source.secret !== undefined) {
    return keyed(sources.lookup, "Secret", source.secret)
  }
  if (source.configMap !== undefined) {
    return keyed(sources.lookup, "ConfigMap", source.configMap)
  }
  const request = source.serviceAccountToken
  return request === undefined
    ? downward(pod, source.downwardAPI?.items)
    : Effect.map(sources.token(request), (token) => [{ path: request.path, data: Buffer.from(token), mode: undefined }])
}

const filesOf = <E>(pod: Pod, volume: Volume, sources: Sources<E>): Files<E> => {
  if (volume.secret !== undefined) {
    const { secretName = "", ...rest } = volume.secret
    return keyed(sources.lookup, "Secret", { ...rest, name: secretName })
  }
  if (volume.configMap !== undefined) {
    return keyed(sources.lookup, "ConfigMap", volume.configMap)
  }
  return volume.projected === undefined
    ? downward(pod, volume.downwardAPI?.items)
    : Effect.map(
        Effect.forEach(volume.projected.sources ?? [], (source) => projected(pod, sources, source)),
        (files) => files.flat()
      )
}

/** The first volume of a sort that cannot be had here. */
export const unsupported = (pod: Pod): string | undefined =>
  pod.spec.volumes?.find(({ configMap, downwardAPI, emptyDir, hostPath, projected, secret }) =>
    [configMap, downwardAPI, emptyDir, hostPath, projected, secret].every((source) => source === undefined)
  )?.name

const defaultMode = 0o644

/** The umask has no say in the modes that a Pod asks for. */
const write = (folder: string, { data, mode, path }: File, volumeMode: number): void => {
  // The API server refuses paths that lead out of the volume; this one is not asked.
  const target = join(folder, normalize(join("/", path)))
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, data)
  chmodSync(target, mode ?? volumeMode)
}

/**
 * Makes the volumes under `folder` and says where each is. Fails, having written nothing of that volume, while a Secret or
 * ConfigMap is missing.
 */
export const materialise = Effect.fnUntraced(function* <E>(
  pod: Pod,
  folder: string,
  sources: Sources<E>
): Effect.fn.Return<ReadonlyMap<string, string>, E | ConfigMissing> {
  const places = new Map<string, string>()
  for (const volume of pod.spec.volumes ?? []) {
    if (volume.hostPath !== undefined) {
      places.set(volume.name, volume.hostPath.path)
      continue
    }
    const files = volume.emptyDir === undefined ? yield* filesOf(pod, volume, sources) : []
    const { configMap, downwardAPI, projected, secret } = volume
    const mode = (secret ?? configMap ?? downwardAPI ?? projected)?.defaultMode ?? defaultMode
    const place = join(folder, volume.name)
    yield* Effect.sync(() => {
      mkdirSync(place, { recursive: true })
      chmodSync(place, 0o777)
      files.forEach((file) => write(place, file, mode))
    })
    places.set(volume.name, place)
  }
  return places
})
