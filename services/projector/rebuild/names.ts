/** What tables are called that stand beside those of a projection: nobody reads them under these names. */

/** being built, to take their place */
export function nextOf(projection: string): string {
  return `${projection}_next`;
}

/** those that stood there before, kept until the next ones take their place */
export function previousOf(projection: string): string {
  return `${projection}_previous`;
}

/** built to be compared */
export function verifyOf(projection: string): string {
  return `${projection}_verify`;
}
