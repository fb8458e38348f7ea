/** The setting of the key that deposit addresses are derived from. */
import { readDepositKey, type DepositKey } from '../../../schemas/deposit-address.ts';
import { DEVELOPMENT_XPUB } from '../../../schemas/development.ts';
import type { Setting } from './config.ts';

const NAME = 'APP_DEPOSIT_XPUB';

/** Secret, so that a private key given by mistake is not logged as well. */
export const DEPOSIT_KEY: Setting<DepositKey> = {
  name: NAME,
  expected: "an extended public key at m/44'/195'/0'/0",
  secret: true,
  read(text) {
    const read = readDepositKey(text);
    if ('problem' in read) throw new Error(read.problem);
    return read.key;
  },
};

/** On the mainnet, the key whose private keys are public is refused. */
export function depositKeyProblems(key: DepositKey): readonly string[] {
  return key.extended_public_key === DEVELOPMENT_XPUB
    ? [
        `${NAME} is the key of the development stack, whose private keys are public, so deposits would be lost: set a key of your own on the mainnet`,
      ]
    : [];
}
