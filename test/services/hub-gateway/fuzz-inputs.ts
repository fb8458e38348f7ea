/** Random operations, variables, bodies, tokens and socket messages, all from one seed. */
import type { Random } from '../../support/random.ts';

type Kind = 'query' | 'mutation' | 'subscription';
type ArgumentType =
  'hash' | 'address' | 'amount' | 'degrees' | 'limit' | 'bounds' | 'text' | 'signature';

interface Field {
  readonly kind: Kind;
  readonly name: string;
  readonly args: Readonly<Record<string, ArgumentType>>;
  readonly selection: readonly string[];
}

const REQUEST = [
  'txHash',
  'pickupLocation { latitude longitude }',
  'dropoffLocation { latitude }',
  'fare',
  'passengerAddress',
  'referrer',
];
const OFFER = ['txHash', 'rideRequestTxHash', 'fare', 'driverAddress', 'referrer'];
const TRIP = [
  'txHash',
  'rideOfferTxHash',
  'pickupLocation { longitude }',
  'fare',
  'farePaid',
  'driverAddress',
  'passengerAddress',
];
const RIDE = ['status', 'tripTxHash', 'farePaid', 'steps { step txHash blockHeight amount }'];
const PARTIES = { driverAddress: 'address', passengerAddress: 'address' } as const;
const ROUTE = {
  pickupLatitude: 'degrees',
  pickupLongitude: 'degrees',
  dropoffLatitude: 'degrees',
  dropoffLongitude: 'degrees',
} as const;

function fields(
  kind: Kind,
  table: Readonly<Record<string, readonly [Field['args'], readonly string[]]>>,
): readonly Field[] {
  return Object.entries(table).map(([name, [args, selection]]) => ({
    kind,
    name,
    args,
    selection,
  }));
}

const FIELDS: readonly Field[] = [
  ...fields('query', {
    chainInfo: [{}, ['chainId', 'isTestnet', 'txFee', 'totalSupply', 'mintAuthority']],
    listRideRequests: [{ bounds: 'bounds', limit: 'limit' }, REQUEST],
    listRideOffers: [{ rideRequestTxHash: 'hash' }, OFFER],
    listActiveTrips: [{ ...PARTIES, limit: 'limit' }, TRIP],
    listCompletedTrips: [{ ...PARTIES, limit: 'limit' }, TRIP],
    listRecentTrips: [{ ...PARTIES, limit: 'limit' }, [...TRIP, 'tripStatus']],
    ride: [{ txHash: 'hash' }, RIDE],
    accountBalance: [{ publicKey: 'address' }, []],
  }),
  ...fields('mutation', {
    generateToken: [
      { publicKey: 'address', timestamp: 'limit', signature: 'signature' },
      ['token', 'expiresAt'],
    ],
    createUnsignedRideRequest: [{ ...ROUTE, fare: 'amount' }, []],
    createUnsignedRideOffer: [{ rideRequestTransactionHash: 'hash', fare: 'amount' }, []],
    createUnsignedRideAcceptance: [{ rideOfferTransactionHash: 'hash' }, []],
    createUnsignedRidePay: [{ rideAcceptanceTransactionHash: 'hash', fare: 'amount' }, []],
    createUnsignedRideCancel: [{ rideAcceptanceTransactionHash: 'hash' }, []],
    createUnsignedRideRequestCancel: [{ rideRequestTransactionHash: 'hash' }, []],
    createUnsignedBurn: [{ amount: 'amount', redemptionRef: 'hash' }, []],
    sendRawTransaction: [{ rawTransaction: 'text' }, []],
  }),
  ...fields('subscription', {
    rideRequestsUpdated: [{ bounds: 'bounds', limit: 'limit' }, REQUEST],
    rideOffersUpdated: [{ rideRequestTxHash: 'hash' }, OFFER],
    activeTripsUpdated: [{ ...PARTIES, limit: 'limit' }, TRIP],
    completedTripsUpdated: [{ ...PARTIES, limit: 'limit' }, TRIP],
    recentTripsUpdated: [{ ...PARTIES, limit: 'limit' }, TRIP],
    rideUpdated: [{ txHash: 'hash' }, RIDE],
    accountBalanceUpdated: [{ publicKey: 'address' }, []],
  }),
];

const TYPES: Readonly<Record<ArgumentType, string>> = {
  hash: 'String!',
  address: 'String!',
  amount: 'String!',
  degrees: 'Float!',
  limit: 'Int!',
  text: 'String!',
  bounds: 'MapBoundsInput',
  signature: 'AuthSignatureInput!',
};
const INPUT_TYPES = ['String', 'Int', 'Float!', '[Int]', 'MapBoundsInput', 'Nobody'];
const VARIABLES = ['v', 'w'];

const HEX = '0123456789abcdefABCDEF';
const STRANGE_TEXTS: readonly string[] = [
  ...'0 -1 +1 1.0 1e3 0x 0x10 １ 01 null NaN __proto__ constructor % \\x00 🚕'.split(' '),
  '',
  ' ',
  "' OR 1=1 --",
  '\u0000',
  '\ud800',
  '\u2028',
  'é'.repeat(100),
  '9'.repeat(5_000),
  `0x${'f8'.repeat(300)}`,
  `0x${'c1'.repeat(200)}c0`,
  String(2n ** 256n - 1n),
  String(2n ** 256n),
];
const STRANGE_NUMBERS =
  '0 -0 -1 200 201 2147483647 2147483648 1e400 -1e400 1e-400 90 -180 180.0000001 0.1'.split(' ');
const PIECES = [
  ...'{ } ( ) [ ] : ! $ @ " """ \\ ... # | & = , on __typename null 1e400 $v @skip(if:true) @include(if:1)'.split(
    ' ',
  ),
  '\n',
  '\ufeff',
  '\u0000',
  'fragment a on Query',
  '__schema { types { name } }',
];

/** Messages that close a socket. */
const FATAL_TYPES = [
  'connection_init',
  'next',
  'error',
  'connection_ack',
  'start',
  '__proto__',
  '',
];

export class FuzzInputs {
  readonly #random: Random;
  /** existing hashes and addresses, so that some operations succeed */
  readonly #known: readonly string[];
  /** the variables of the current document, with their types */
  readonly #declared = new Map<string, string>();

  constructor(random: Random, known: readonly string[]) {
    this.#random = random;
    this.#known = known;
  }

  /** GraphQL that mostly fits the grammar, sometimes broken anywhere. */
  document(kind?: Kind): string {
    const random = this.#random;
    const chosen = FIELDS.filter((field) => kind === undefined || field.kind === kind);
    const first = random.pick(chosen);
    const others = random.chance(0.15) ? [random.pick(chosen), random.pick(FIELDS)] : [];
    this.#declared.clear();
    const texts = [first, ...others].map((field, at) => this.#field(field, at));
    const name = random.chance(0.2) ? ` ${random.pick(['a', '_', 'Query', '__a', 'on'])}` : '';
    const variables = [...this.#declared].map(
      ([variable, type]) => `$${variable}: ${random.chance(0.9) ? type : random.pick(INPUT_TYPES)}`,
    );
    const declared = variables.length === 0 ? '' : `(${variables.join(', ')})`;
    const text = `${first.kind}${name}${declared} { ${texts.join(' ')} }`;
    const more = random.chance(0.05) ? ` ${this.document()}` : '';
    return (random.chance(0.25) ? this.broken(text) : text) + more;
  }

  variables(): unknown {
    const random = this.#random;
    if (random.chance(0.4)) return undefined;
    if (random.chance(0.05))
      return random.pick<unknown>([
        null,
        [],
        '{}',
        1,
        true,
        JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`),
      ]);
    const given = VARIABLES.filter(() => random.chance(0.7)).map(
      (name) => [name, this.json(random.below(4))] as const,
    );
    return {
      ...Object.fromEntries(given),
      ...(random.chance(0.2) ? { [this.#text()]: this.json(2) } : {}),
    };
  }

  /** A body to post. */
  body(): string {
    const random = this.#random;
    if (random.chance(0.05)) return this.broken(JSON.stringify(this.json(4)) ?? '');
    const operation = {
      query: random.chance(0.95) ? this.document() : this.json(2),
      variables: this.variables(),
      ...(random.chance(0.1) ? { operationName: this.json(1) } : {}),
      ...(random.chance(0.05) ? { extensions: this.json(3) } : {}),
      ...(random.chance(0.05) ? { [this.#text()]: this.json(2) } : {}),
    };
    const text = JSON.stringify(random.chance(0.03) ? [operation, operation] : operation);
    return random.chance(0.1) ? this.broken(text) : text;
  }

  /** A message for a socket. */
  message(): string | Buffer {
    const random = this.#random;
    if (random.chance(0.02)) return random.bytes(4 * (1 + random.below(20)));
    const type = random.chance(0.8)
      ? 'subscribe'
      : random.pick(random.chance(0.9) ? ['complete', 'ping', 'pong'] : FATAL_TYPES);
    const id = random.chance(0.98) ? String(random.below(60)) : this.json(1);
    const payload = random.chance(0.98)
      ? {
          query: this.document(random.pick<Kind>(['query', 'mutation', 'subscription'])),
          variables: this.variables(),
        }
      : this.json(3);
    const text = JSON.stringify(
      random.chance(0.98) ? { id, type, payload } : { type, ...(random.chance(0.5) ? { id } : {}) },
    );
    return random.chance(0.02) ? this.broken(text) : text;
  }

  json(depth: number): unknown {
    const random = this.#random;
    const kind = random.below(depth > 0 ? 7 : 5);
    if (kind === 0) return random.pick<unknown>([null, true, false]);
    if (kind === 1) return random.pick([0, -0, 1, -1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 53), 1e308]);
    if (kind < 5) return this.#text();
    const length = random.below(4);
    if (kind === 5) return Array.from({ length }, () => this.json(depth - 1));
    return Object.fromEntries(Array.from({ length }, () => [this.#text(), this.json(depth - 1)]));
  }

  /** The text with a few characters removed, doubled or replaced. */
  broken(text: string): string {
    const random = this.#random;
    let broken = text;
    for (let more = 1 + random.below(3); more > 0; more--) {
      const at = random.below(broken.length + 1);
      const length = random.below(12);
      const piece = random.pick([
        ...PIECES,
        broken.slice(at, at + length),
        String.fromCharCode(random.below(65_536)),
      ]);
      broken =
        broken.slice(0, at) +
        (random.chance(0.6) ? piece : '') +
        broken.slice(at + (random.chance(0.5) ? length : 0));
    }
    return broken;
  }

  #field({ name, args, selection }: Field, at: number): string {
    const random = this.#random;
    const given = Object.entries(args).filter(() => random.chance(0.8));
    if (random.chance(0.05)) given.push([random.pick(['nothing', 'v', '__typename']), 'text']);
    const texts = given.map(([arg, type]) => `${arg}: ${this.#value(type)}`);
    const alias = at > 0 || random.chance(0.1) ? `a${random.below(3)}: ` : '';
    const wanted = selection.filter(() => random.chance(0.6));
    const inner =
      selection.length === 0 && random.chance(0.95)
        ? ''
        : ` { ${wanted.length === 0 ? '__typename' : wanted.join(' ')} }`;
    return `${alias}${name}${texts.length === 0 ? '' : `(${texts.join(', ')})`}${inner}`;
  }

  #value(type: ArgumentType): string {
    const random = this.#random;
    if (random.chance(0.15)) {
      const variable = random.pick(VARIABLES);
      this.#declared.set(variable, TYPES[type]);
      return `$${variable}`;
    }
    if (random.chance(0.08))
      return random.pick([
        '$v',
        'null',
        '[]',
        '{}',
        '[[1]]',
        'ENUM',
        'true',
        '"""block"""',
        JSON.stringify(this.#text()),
      ]);
    if (random.chance(0.08)) return random.pick(STRANGE_NUMBERS);
    switch (type) {
      case 'degrees':
        return random.chance(0.8)
          ? String((random.below(3_800_000) - 1_900_000) / 10_000)
          : random.pick(STRANGE_NUMBERS);
      case 'limit':
        return random.chance(0.7) ? String(random.below(220)) : random.pick(STRANGE_NUMBERS);
      case 'bounds': {
        const [a, b, c, d] = ['degrees', 'degrees', 'degrees', 'degrees'].map(() =>
          this.#value('degrees'),
        );
        return `{ minLat: ${a}, maxLat: ${b}, minLng: ${c}, maxLng: ${d} }`;
      }
      case 'signature':
        return `{ r: "${this.#hex(64)}", s: "${this.#hex(64)}", v: ${random.pick(['27', '28', '0', '29', '-1', '1.5'])} }`;
      case 'amount':
        return JSON.stringify(random.chance(0.6) ? String(random.below(1_000_000)) : this.#text());
      case 'hash':
        return JSON.stringify(
          random.chance(0.7)
            ? random.pick(this.#known)
            : random.chance(0.5)
              ? `0x${this.#hex(64)}`
              : this.#text(),
        );
      case 'address':
        return JSON.stringify(
          random.chance(0.7)
            ? random.pick(this.#known)
            : random.chance(0.5)
              ? `0x${this.#hex(40)}`
              : this.#text(),
        );
      case 'text':
        return JSON.stringify(this.#text());
    }
  }

  #text(): string {
    const random = this.#random;
    if (random.chance(0.3)) return this.#hex(random.pick([1, 39, 40, 63, 64, 65, 130]));
    return random.pick(random.chance(0.2) ? this.#known : STRANGE_TEXTS);
  }

  #hex(digits: number): string {
    return Array.from({ length: digits }, () => HEX[this.#random.below(HEX.length)]).join('');
  }
}
