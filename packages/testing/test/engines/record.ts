/**
 * Records the goldens from a real API server: `KUBECONFIG=… node --conditions=@berth/source record.ts [name…]`.
 * Everything it makes on the server, it deletes. What it writes into the sources (`fields`) is to be formatted.
 */
import * as fs from "node:fs"
import { connect } from "./oracle.ts"
import { recordApply, recordApplyBuiltins } from "./recordApply.ts"
import { recordBuiltins } from "./recordBuiltins.ts"
import { recordFields } from "./recordFields.ts"
import { recordPatch, recordSelectors } from "./recordPatch.ts"
import { recordCrd, recordStructural } from "./recordStructural.ts"

const recorders = {
  apply: recordApply,
  applyBuiltins: recordApplyBuiltins,
  structural: recordStructural,
  crd: recordCrd,
  builtins: recordBuiltins,
  patch: recordPatch,
  selectors: recordSelectors
}

const kubeconfig = process.env["KUBECONFIG"]
if (kubeconfig === undefined) throw new Error("KUBECONFIG names the kubeconfig of the server to record from")
const wanted = process.argv.slice(2)
const oracle = connect(kubeconfig)
for (const [name, record] of Object.entries(recorders)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const golden = await record(oracle)
  fs.writeFileSync(new URL(`./testdata/${name}.json`, import.meta.url), `${JSON.stringify(golden, null, 1)}\n`)
}
if (wanted.length === 0 || wanted.includes("fields")) await recordFields(oracle)
oracle.close()
