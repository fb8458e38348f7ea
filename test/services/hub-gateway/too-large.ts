/** Operations beyond the limits, with the limit that each exceeds. */
const deep = (depth: number): string => `{ ${'a { '.repeat(depth)}b${' }'.repeat(depth)} }`;
export const TOO_LARGE: readonly (readonly [string, string])[] = [
  [
    'a thousand signs-in',
    `mutation { ${Array.from({ length: 100 }, (_, at) => `a${at}: generateToken(publicKey: "0x", timestamp: 1, signature: {r: "", s: "", v: 1}) { token }`).join(' ')} }`,
  ],
  [
    'two signs-in',
    'mutation { a: generateToken(publicKey: "0x", timestamp: 1, signature: {r: "", s: "", v: 1}) { token } b: generateToken(publicKey: "0x", timestamp: 1, signature: {r: "", s: "", v: 1}) { token } }',
  ],
  [
    'many aliases',
    `{ ${Array.from({ length: 60 }, (_, at) => `a${at}: chainInfo { chainId }`).join(' ')} }`,
  ],
  [
    'many root fields',
    `{ ${Array.from({ length: 11 }, (_, at) => `a${at}: __typename`).join(' ')} }`,
  ],
  [
    'a subscription with many aliases',
    `subscription { recentTripsUpdated { ${Array.from({ length: 11 }, (_, at) => `a${at}: txHash`).join(' ')} } }`,
  ],
  [
    'a subscription with a long alias',
    `subscription { recentTripsUpdated { ${'a'.repeat(65)}: txHash } }`,
  ],
  [
    'a long alias in a fragment',
    `{ chainInfo { ...f } } fragment f on ChainInfo { ${'a'.repeat(65)}: chainId }`,
  ],
  ['deep nesting', deep(50)],
  ['many tokens', `{ chainInfo { ${'chainId '.repeat(2_000)} } }`],
  [
    'many uses of a fragment',
    `{ chainInfo { ${'...a '.repeat(250)} } } fragment a on ChainInfo { chainId }`,
  ],
  [
    'many fields by fragments',
    `{ chainInfo { ...a } } fragment a on ChainInfo { ${'chainId '.repeat(300)} ...b } fragment b on ChainInfo { ${'txFee '.repeat(300)} }`,
  ],
  [
    'fragments of fragments',
    `{ chainInfo { ...f0 } } ${Array.from({ length: 30 }, (_, at) => `fragment f${at} on ChainInfo { ...f${at + 1} ...f${at + 1} }`).join(' ')} fragment f30 on ChainInfo { chainId }`,
  ],
  [
    'a cycle of fragments',
    '{ chainInfo { ...a } } fragment a on ChainInfo { ...b } fragment b on ChainInfo { ...a }',
  ],
];
