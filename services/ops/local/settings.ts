/** `--set NAME=VALUE`: settings of a service, checked before anything is stopped. */
import { SETTINGS as INGESTER } from '../../chain-ingester/config.ts';
import { settingsOf as depositGateway } from '../../deposit-gateway/config.ts';
import { SETTINGS as EXPLORER_GATEWAY } from '../../explorer-gateway/config.ts';
import { settingsOf as hubGateway } from '../../hub-gateway/config.ts';
import { SETTINGS as PROJECTOR } from '../../projector/config.ts';
import { fileVariable, readConfig, type Settings } from '../../runtime/process/config.ts';
import { SETTINGS as TREASURY } from '../../treasury/config.ts';
import { SETTINGS as WATCHER } from '../../tron-watcher/config.ts';
import { didYouMean, Misuse } from '../usage.ts';

/** Defaults and what is required are those of the mainnet. */
const MAINNET = { APP_NETWORK: 'mainnet' };

export const SERVICES: Readonly<Record<string, Settings>> = {
  'chain-ingester': INGESTER,
  'deposit-gateway': depositGateway(MAINNET),
  'explorer-gateway': EXPLORER_GATEWAY,
  'hub-gateway': hubGateway(MAINNET),
  projector: PROJECTOR,
  treasury: TREASURY,
  'tron-watcher': WATCHER,
};

/** Where others look for the service: the stack decides these. */
const PLACES: ReadonlySet<string> = new Set(['APP_HTTP_HOST', 'APP_HTTP_PORT', 'APP_OPS_PORT']);

/** `part`: a service, one of its instances, or a projector. Messages never show a value. */
export function settingsFor(
  part: string,
  given: readonly string[],
): Readonly<Record<string, string>> {
  const service = part.startsWith('projector-') ? 'projector' : part.replace(/-2$/, '');
  const settings = SERVICES[service];
  if (settings === undefined)
    throw new Misuse(
      `${part} takes no --set: only services have settings (${Object.keys(SERVICES).join(', ')})`,
      'no_settings',
    );
  const variables = new Map(
    Object.entries(settings)
      .filter(([, { name }]) => !PLACES.has(name))
      .flatMap((entry) => {
        const { name, secret } = entry[1];
        return [name, ...(secret ? [fileVariable(name)] : [])].map(
          (each) => [each, entry] as const,
        );
      }),
  );
  const set: Record<string, string> = {};
  const wanted: Record<string, Settings[string]> = {};
  for (const assignment of given) {
    const [, name, value] = /^(APP_[A-Z0-9_]+)=([^]*)$/.exec(assignment) ?? [];
    if (name === undefined || value === undefined)
      throw new Misuse('--set is NAME=VALUE, with a name like APP_RATE_PER_SECOND');
    const entry = variables.get(name);
    if (entry === undefined)
      throw new Misuse(
        `${name} is no setting of ${service}${didYouMean(name, [...variables.keys()])} (docs/configuration.md has all)`,
        'no_such_setting',
      );
    if (name in set) throw new Misuse(`--set ${name} is given twice`);
    set[name] = value;
    const [key, setting] = entry;
    const { name: variable, expected, secret, hidden = false } = setting;
    // a contradiction with other settings is seen by the service, which has them
    const read = (text: string): unknown => setting.read(text);
    const plain = { name: variable, expected, secret, hidden, read };
    wanted[key] = 'fallback' in setting ? { ...plain, fallback: setting.fallback } : plain;
  }
  readConfig(set, wanted);
  return set;
}
