/** The devnet's process. Exit codes: 0 drained, 1 bad configuration, 2 fault. */
import { pino } from 'pino';
import { readConfig } from './config.ts';
import { startDevnet } from './service.ts';
import { openIdentity } from './store/identity.ts';

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
  const { config } = read;
  const identity = openIdentity(config.directory, config, Date.now());
  if ('problems' in identity) end(1, { event: 'bad_configuration', problems: identity.problems });
  const devnet = await startDevnet(config, identity.settings, log);
  const { node_port, tron_port, admin_port, node } = devnet;
  const { chain_id } = config;
  const { height } = node.head;
  log.info({ event: 'ready', node_port, tron_port, admin_port, height, chain_id });
  await Promise.race([stop.promise, devnet.broken]);
  log.info({ event: 'draining', height: node.head.height });
  await devnet.close();
  return end(0, { event: 'drained' });
}

run().catch((err: unknown) => end(2, { event: 'fault', err }));
