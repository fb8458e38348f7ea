/** The callers. Every request under `/api/` but a preflight is checked for its token first. */
import { parseAddress, toHex } from '../../schemas/address.ts';
import type { HttpRequest } from '../runtime/http/handler.ts';
import type { HttpResponse } from '../runtime/http/response.ts';
import { bearerToken, verifyToken, type TokenSecrets } from '../runtime/http/token.ts';
import { assert } from '../runtime/process/errors.ts';
import { errorBody } from './errors.ts';

const ADDRESS_FORM = /^0x[0-9a-f]{40}$/i;

export const UNAUTHORIZED = {
  status: 401,
  body: '',
  content_type: 'text/plain; charset=utf-8',
  headers: { 'www-authenticate': 'Bearer' },
} satisfies HttpResponse;
const NO_ADDRESS: HttpResponse = {
  status: 400,
  body: errorBody(
    'deposits require an address-form token (0x + 40 hex) and public-key tokens are not accepted',
  ),
};
const NOT_ALLOWED: HttpResponse = {
  status: 403,
  body: errorBody("account is not on the pilot's list"),
};

export interface CallerSettings extends TokenSecrets {
  /** as 0x + lower-case hex; undefined: everybody */
  readonly allowed_accounts: ReadonlySet<string> | undefined;
}

type Checked = Pick<HttpRequest, 'path' | 'headers'>;

export class Callers {
  readonly #settings: CallerSettings;
  readonly #now: () => number;
  readonly #checks = new WeakMap<object, Promise<HttpResponse | undefined>>();
  readonly #accounts = new WeakMap<object, Buffer>();

  /** `now`: Unix milliseconds. */
  constructor(settings: CallerSettings, now: () => number) {
    this.#settings = settings;
    this.#now = now;
  }

  /** The response to a caller who may not pass; undefined for others, whose account `of` gives. */
  refuse(request: Checked): Promise<HttpResponse | undefined> {
    const known = this.#checks.get(request);
    if (known !== undefined) return known;
    const check = this.#check(request);
    this.#checks.set(request, check);
    return check;
  }

  async #check(request: Checked): Promise<HttpResponse | undefined> {
    if (!request.path.startsWith('/api/')) return undefined;
    const { allowed_accounts: allowedAccounts } = this.#settings;
    const token = bearerToken(request.headers.authorization);
    const claims =
      token === undefined ? undefined : await verifyToken(token, this.#settings, this.#now());
    if (claims === undefined) return UNAUTHORIZED;
    const account = ADDRESS_FORM.test(claims.pk) ? parseAddress(claims.pk) : undefined;
    if (account === undefined) return NO_ADDRESS;
    if (allowedAccounts?.has(toHex(account)) === false) return NOT_ALLOWED;
    this.#accounts.set(request, account);
    return undefined;
  }

  /** The account of a caller who may pass, as 0x + hex; undefined for all others. */
  async known(request: Checked): Promise<string | undefined> {
    await this.refuse(request);
    const account = this.#accounts.get(request);
    return account && toHex(account);
  }

  /** The account (20 bytes) of a request that passed. */
  of(request: Checked): Buffer {
    const account = this.#accounts.get(request);
    assert(account !== undefined, 'a request was served without its token');
    return account;
  }
}
