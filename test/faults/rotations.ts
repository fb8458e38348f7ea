/**
 * The fault run of rotations: each secret of a cluster is replaced by the commands of its page,
 * while readers ask every gateway, a socket is subscribed and deposits arrive. No read may fail.
 */
import { startCommandCluster } from '../support/command-cluster.ts';
import { Random } from '../support/random.ts';
import { PATIENT_READS } from '../support/stack.ts';
import { DEPOSIT_SERVICES } from './cluster-deposits.ts';
import type { FaultReport, FaultRun, Given } from './fault-run.ts';
import { SETTINGS_ROTATIONS } from './rotation-secrets.ts';
import { SERVER_ROTATIONS } from './rotation-servers.ts';
import { RotationWorld, type Rotation } from './rotation-world.ts';

/** In this order: the last one changes who signs the decisions of the others. */
const ROTATIONS: readonly Rotation[] = [...SERVER_ROTATIONS, ...SETTINGS_ROTATIONS];

const SERVICES = {
  ...DEPOSIT_SERVICES,
  // the run may be on a busy machine
  ...PATIENT_READS,
  APP_TRON_API_KEY: 'the first key at the provider',
};

async function run(_options: object, given: Given): Promise<FaultReport> {
  const cluster = await startCommandCluster([], SERVICES);
  try {
    given.progress('the cluster is ready');
    const world = new RotationWorld(cluster, new Random(given.seed));
    const lines: string[] = [];
    try {
      await world.deposits.start();
      for (const rotation of ROTATIONS) {
        const begun = performance.now();
        await rotation.steps(world);
        await world.goesOn(rotation.name);
        const line = `${rotation.name}: replaced, and a new deposit credited, in ${((performance.now() - begun) / 1_000).toFixed(1)} s`;
        given.progress(line);
        lines.push(line);
      }
      lines.push(...(await world.readers.end()));
      lines.push(
        `the subscriber: ${world.subscriber.results} results on ${world.subscriber.sockets} sockets`,
      );
      return { lines, violations: await world.judged() };
    } finally {
      await world.readers.end();
      await world.subscriber.close();
    }
  } finally {
    await cluster.stop();
  }
}

export const rotations: FaultRun<never> = {
  about:
    'a cluster by its own command, whose certificates, passwords and other secrets are replaced as docs/operations/rotation.md says, while every gateway is\n' +
    'read, a socket is subscribed and deposits arrive: no read fails, the new secret works and the old one is refused',
  options: {},
  run,
};
