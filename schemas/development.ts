/**
 * What the local stack and docker compose take where nothing else is set, so that everything runs at once on a network of its own. Everybody knows these: whoever holds money on the
 * mainnet by them gives it away, so services refuse them there.
 */

/** Of the mnemonic that everybody tests with, at m/44'/195'/0'/0. */
export const DEVELOPMENT_XPUB =
  'xpub6FGfJkAgwSdiFiFcxWt2rurqZu8YjuEmKfsxLVBrQwr1ZjHpqYEXR9w52uCGyMdmsatMr7VXgNLuoHyFKtK8LZDCVbrMetUGeTLXvWk8y4W';

/** Of the same mnemonic, at m/44'/195'/1'/0/0. */
export const DEVELOPMENT_CUSTODY = 'TCjow1qG4ZvDNj5ZRCF2RSuS2kMCGKK1JJ';

/** With which tokens are signed. */
export const DEVELOPMENT_JWT_SECRET = 'a development secret, known to everybody';

/** The devnet's mint authority, of its seed `clt-devnet`. */
export const DEVELOPMENT_MINT_AUTHORITY = '0x4d5914731c247b535b7717567c1b06af35e09395';
