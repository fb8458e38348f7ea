/**
 * A process for `main.test.ts`, whose argument chooses its behaviour. It prints `serving` on stderr
 * when it is up.
 */
import {
  ConfigError,
  readConfig,
  SERVICE_SETTINGS,
  text,
} from '../../../../services/runtime/process/config.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { runMain, type Service } from '../../../../services/runtime/process/main.ts';

const SETTINGS = { ...SERVICE_SETTINGS, node_url: text('APP_NODE_URL') };
type Run = (service: Service<{ readonly node_url: string }>) => Promise<void> | void;

const never = new Promise<void>(() => undefined);

function serving(): void {
  process.stderr.write('serving\n');
}

const RUNS: Readonly<Record<string, Run>> = {
  drains: ({ closing, log, signal }) => {
    closing.add('first', () => log.info('closed first'));
    closing.add('second', () => log.info({ told: signal.aborted }, 'closed second'));
    serving();
  },
  works: async ({ closing, log, signal }) => {
    closing.add('connection', () => log.info('closed connection'));
    serving();
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve);
    });
    log.info('work finished');
  },
  'hangs in work': async () => {
    serving();
    await never;
  },
  'hangs in closing': ({ closing }) => {
    closing.add('Postgres', () => undefined);
    closing.add('HTTP', () => never);
    serving();
  },
  'fails to open': ({ closing, log }) => {
    closing.add('opened before', () => log.info('closed opened before'));
    throw new Fault('http_port', 'the port is taken', { retry: false });
  },
  'contradicts the log': ({ closing, log }) => {
    closing.add('opened before', () => log.info('closed opened before'));
    throw new ConfigError(['another key is pinned']);
  },
  'fails to close': ({ closing, log }) => {
    closing.add('closes', () => log.info('closed closes'));
    closing.add('does not', () => Promise.reject(new Error('no')));
    serving();
  },
  'rejects unhandled': () => {
    void Promise.reject(new Fault('kafka', 'gone', { retry: true }));
  },
  'throws uncaught': () => {
    setImmediate(() => {
      throw new Error('a bug');
    });
  },
};

await runMain(
  'fixture',
  (env) => readConfig(env, SETTINGS),
  (service) => RUNS[process.argv[2] ?? '']?.(service),
);
