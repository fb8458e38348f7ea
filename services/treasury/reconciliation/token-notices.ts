/** Says in the log what the token does with the money in custody: once, and when it changes. */
import { toTronAddress } from '../../../schemas/tron-address.ts';
import type { Logger } from '../../runtime/process/log.ts';
import type { Measured } from './measure.ts';

/** Named in one line; the figure says how much is frozen at all of them. */
const ADDRESSES_MAX = 50;

export class TokenNotices {
  readonly #log: Logger;
  /** what was said last of each subject; none: it is as it should be */
  readonly #said = new Map<string, string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  measured({
    token,
    blocked,
    position: { frozen },
  }: Pick<Measured, 'token' | 'blocked' | 'position'>): void {
    const log = this.#log;
    const { paused, deprecated, fee_basis_points, maximum_fee } = token;
    this.#tell('paused', paused ? 'it is' : '', {
      begins: () =>
        log.error(
          { frozen },
          'the token is paused: nobody can move USDT, so all of custody is frozen',
        ),
      ends: () => log.info('the token is not paused any more'),
    });
    this.#tell('deprecated', deprecated ? 'it is' : '', {
      begins: () =>
        log.error(
          { frozen },
          'the token is deprecated: another contract has taken its place, so all of custody is frozen',
        ),
      ends: () => log.info('the token is not deprecated any more'),
    });
    const addresses = blocked.slice(0, ADDRESSES_MAX).map(toTronAddress);
    this.#tell('blocked', blocked.length === 0 ? '' : `${frozen} ${addresses.join(' ')}`, {
      begins: () =>
        log.error(
          { frozen, blocked: blocked.length, addresses },
          'the token blocks addresses of custody: their money cannot be moved, and covers nothing',
        ),
      ends: () => log.info('the token blocks no address of custody with money any more'),
    });
    this.#tell('fees', fee_basis_points === 0n ? '' : `${fee_basis_points} ${maximum_fee}`, {
      begins: () =>
        log.warn(
          { fee_basis_points, maximum_fee },
          'the token takes a fee of each transfer: less arrives than is sent, and each sweep costs',
        ),
      ends: () => log.info('the token takes no fee any more'),
    });
  }

  #tell(
    subject: string,
    state: string,
    say: { readonly begins: () => void; readonly ends: () => void },
  ): void {
    if ((this.#said.get(subject) ?? '') === state) return;
    this.#said.set(subject, state);
    if (state === '') say.ends();
    else say.begins();
  }
}
