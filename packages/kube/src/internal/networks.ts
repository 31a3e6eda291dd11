/** Keeps connections out of networks that they have no business in, be it by address or by name. */
import { type LookupAddress, lookup } from "node:dns"
import { BlockList, type LookupFunction, isIP } from "node:net"

/** The code of the error that a refused connection fails with. */
export const refusedCode = "ERR_BERTH_NETWORK_REFUSED"

export interface Guard {
  /** Whether this host is written as an address that is refused. */
  readonly refuses: (host: string) => boolean
  /** Looks names up, and fails for one that leads to a refused address. */
  readonly lookup: LookupFunction
}

const familyOf = (address: string) => (isIP(address) === 6 ? "ipv6" : "ipv4")

const refusal = (): Error => Object.assign(new Error("the address is in a refused network"), { code: refusedCode })

/** Undefined where nothing is refused. */
export const guard = (networks: ReadonlyArray<string>): Guard | undefined => {
  if (networks.length === 0) return undefined
  const refused = new BlockList()
  for (const network of networks) {
    const [address = "", bits = ""] = network.split("/")
    refused.addSubnet(address, Number(bits), familyOf(address))
  }
  const holds = (address: string) => refused.check(address, familyOf(address))
  return {
    refuses: (host) => {
      const address = host.replace(/^\[|\]$/gu, "")
      return isIP(address) !== 0 && holds(address)
    },
    lookup: (name, options, callback) => {
      lookup(name, { ...options, all: true }, (error, found: ReadonlyArray<LookupAddress>) => {
        if (error !== null) return callback(error, "")
        const [first] = found
        // One is enough: which of them is connected to is not decided here.
        if (first === undefined || found.some(({ address }) => holds(address))) return callback(refusal(), "")
        return options.all === true ? callback(null, [...found]) : callback(null, first.address, first.family)
      })
    }
  }
}
