/** Versions of the servers that have no folder of their own under infra. */
export const registry_version = '2.6.13.Final';
export const redis_version = '7.0.15';

/** The image whose program is the one that the local stack runs: this version's H2 database, given a file instead of memory. */
export const registry_image = `apicurio/apicurio-registry-mem:${registry_version}`;
export const redis_image = `redis:${redis_version}`;
