/** The devnet's process: `node infra/devnet/main.ts`. Exit 0: drained after SIGTERM or SIGINT; 1: bad configuration; 2: a fault. */
import { pino } from 'pino';
import { readConfig } from './config.ts';
import { startDevnet } from './devnet.ts';
import { identify } from './store/identity.ts';

const read = readConfig(process.env);
const log = pino({
  level: 'config' in read ? read.config.log_level : 'info',
  base: { service: 'devnet' },
});
const stop = Promise.withResolvers<void>();
process.on('SIGTERM', () => stop.resolve()).on('SIGINT', () => stop.resolve());
process.on('uncaughtException', (err) => end(2, { event: 'fault', err }));

function end(code: 0 | 1 | 2, line: object): never {
  if (code === 0) log.info(line);
  else log.fatal(line);
  process.exit(code);
}

async function run(): Promise<never> {
  if ('problems' in read) end(1, { event: 'bad_configuration', problems: read.problems });
  const identified = identify(read.config.directory, read.config, Date.now());
  if ('problems' in identified)
    end(1, { event: 'bad_configuration', problems: identified.problems });
  const devnet = await startDevnet(read.config, identified.settings, log);
  const { node_port, tron_port, admin_port, node } = devnet;
  log.info({
    event: 'ready',
    node_port,
    tron_port,
    admin_port,
    height: node.head.height,
    chain_id: read.config.chain_id,
  });
  await Promise.race([stop.promise, devnet.broken]);
  log.info({ event: 'draining', height: node.head.height });
  await devnet.close();
  return end(0, { event: 'drained' });
}

run().catch((err: unknown) => end(2, { event: 'fault', err }));
