/**
 * The default keys of the local stack and of docker compose. They are public, so services refuse
 * them on the mainnet.
 */

/** Key of the well-known test mnemonic at m/44'/195'/0'/0. */
export const DEVELOPMENT_XPUB =
  'xpub6FGfJkAgwSdiFiFcxWt2rurqZu8YjuEmKfsxLVBrQwr1ZjHpqYEXR9w52uCGyMdmsatMr7VXgNLuoHyFKtK8LZDCVbrMetUGeTLXvWk8y4W';

/** Key of the same mnemonic at m/44'/195'/1'/0/0. */
export const DEVELOPMENT_CUSTODY = 'TCjow1qG4ZvDNj5ZRCF2RSuS2kMCGKK1JJ';

/** Signs the tokens. */
export const DEVELOPMENT_JWT_SECRET = 'a development secret, known to everybody';

/** The devnet's mint authority with the seed `clt-devnet`. */
export const DEVELOPMENT_MINT_AUTHORITY = '0x4d5914731c247b535b7717567c1b06af35e09395';

/** Signs the decisions of operators: the key of `DEVELOPMENT_OPERATOR`. */
export const DEVELOPMENT_OPERATOR_KEY =
  '0xf71e4172b377f2847501efd360e3b3ca68962aff68129d9ef26fdf5f0f9ac108';
export const DEVELOPMENT_OPERATOR = '0x23b86030bd5ee222ed7271efdd53ee020d6a1f39';
