/** Who is asking: the account of a token. Without one, or with one that is none, the caller is anonymous, and only what needs a token is refused. */
import { accountOfKey } from '../../../schemas/sign-in.ts';
import { bearerToken, verifyToken } from '../../runtime/http/token.ts';

export interface Caller {
  /** 0x + lower-case hex */
  readonly account: string;
}

export interface TokenSettings {
  readonly jwt_secret: string;
}

/** The caller of an Authorization header, or of the same text in a socket's `connection_init`; `now_ms` in Unix milliseconds. */
export async function callerOf(
  authorization: unknown,
  { jwt_secret: secret }: TokenSettings,
  now_ms: number,
): Promise<Caller | undefined> {
  const token = typeof authorization === 'string' ? bearerToken(authorization) : undefined;
  const claims = token === undefined ? undefined : await verifyToken(token, secret, now_ms);
  const account = claims === undefined ? undefined : accountOfKey(claims.pk);
  return account === undefined ? undefined : { account };
}
