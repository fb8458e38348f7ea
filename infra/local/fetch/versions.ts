/** The versions of the servers that the local stack fetches from Maven. */

/** The newest for which Maven has a program. */
export const redis_version = '7.0.15';
export const registry_version = '2.6.13.Final';
