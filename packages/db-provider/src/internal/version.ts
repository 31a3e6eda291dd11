/** The version of this package, as it stands in its package.json. */
export const version = "0.1.0"
