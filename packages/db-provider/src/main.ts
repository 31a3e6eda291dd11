#!/usr/bin/env node
/** The `berth-db-provider` command: what a Node that is too old could not load is loaded when it is known that this one is not. */
import * as NodeVersion from "@berth/kube/NodeVersion"

if (NodeVersion.isEnough("berth-db-provider")) await import("./internal/main.ts")
