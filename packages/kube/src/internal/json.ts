/** The edge where JSON from the server gets a type: its form is checked as far as the client needs it, the rest is taken on trust. */
import { Predicate } from "effect"
import type { KubeObject } from "../KubeObject.ts"
import * as ResourceType from "../ResourceType.ts"

/** A map out of JSON text, or undefined. */
export const parseMap = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return Predicate.isObject(value) ? value : undefined
  } catch {
    // Not JSON: the caller says what that means.
    return undefined
  }
}

/** A value as a map; empty where it is none. */
export const asMap = (value: unknown): Readonly<Record<string, unknown>> => (Predicate.isObject(value) ? value : {})

/** Text where there is text. */
export const asText = (value: unknown): string => (typeof value === "string" ? value : "")

/** The elements of an array; none where it is no array. */
export const asList = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The same map, saying what it is. */
export const named = (
  type: ResourceType.ResourceType,
  map: Readonly<Record<string, unknown>>
): Readonly<Record<string, unknown>> => {
  const apiVersion = ResourceType.apiVersion(type)
  return map["kind"] === type.kind && map["apiVersion"] === apiVersion ? map : { ...map, apiVersion, kind: type.kind }
}

/** An object of the API, of the type that the caller of the client named. */
export const asObject = <O extends KubeObject>(
  _: ResourceType.ResourceType<O>,
  map: Readonly<Record<string, unknown>>
): O => map as unknown as O
