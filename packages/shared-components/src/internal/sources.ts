/** The two places where a template's world is looked up. */
import type { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Manager from "@berth/provisioners/Manager"
import { Effect } from "effect"
import { Records } from "../Records.ts"
import { Settings } from "../Settings.ts"
import { SharedComponent } from "../SharedComponent.ts"
import { SharedComponentProvider } from "../SharedComponentProvider.ts"
import type { Source } from "./world.ts"

export const cached: Effect.Effect<Source<never, never>, never, Records> = Effect.map(
  Records,
  ({ provider, sharedComponent }) => ({ provider, sharedComponent })
)

/** Declared as inputs, so that whoever waits for one of them goes on when it is there or is mended. */
export const truth: Effect.Effect<Source<Disposition.ProvisionError, Client>, never, Settings> = Effect.map(
  Settings,
  ({ managementNamespace: namespace }) => ({
    sharedComponent: (name) => Manager.input(SharedComponent, { name, namespace }),
    provider: (name) => Manager.input(SharedComponentProvider, { name, namespace })
  })
)
