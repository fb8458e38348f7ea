import { expect, test, vi } from 'vitest';
import {
  ask,
  HubError,
  privateKeySigner,
  send,
  signIn,
} from '../../../packages/wallet/src/index.ts';
import { openLocalServer, type Answer, type Question } from './local-server.ts';
import { ADDRESS, CHAIN_ID, PRIVATE_KEY } from './vectors.ts';

const SIGNED = { from: ADDRESS, nonce: 0, raw: '0x00', hash: '0x11' };

async function against<Result>(
  answer: Answer | undefined,
  act: (hub: { readonly url: string; readonly chainId: number }) => Promise<Result>,
): Promise<{ readonly result: Result; readonly question: Question | undefined }> {
  let question: Question | undefined;
  await using server = await openLocalServer((asked) => {
    question = asked;
    return answer;
  });
  return { result: await act({ url: server.url, chainId: CHAIN_ID }), question };
}

const data = (value: object): Answer => ({ body: JSON.stringify({ data: value }) });

test('a question carries the token and the variables', async () => {
  const answer = data({ accountBalance: '9007199254740993' });
  const { result, question } = await against(answer, (hub) =>
    ask(hub, 'query ($k: String) { accountBalance(publicKey: $k) }', { k: ADDRESS }, 'token'),
  );
  expect(result).toEqual({ accountBalance: '9007199254740993' });
  expect(question).toMatchObject({ authorization: 'Bearer token' });
  expect(JSON.parse(question?.body ?? '')).toMatchObject({ variables: { k: ADDRESS } });
});

test.each<[string, Answer, string]>([
  [
    'an error of the hub',
    {
      body: '{"data":null,"errors":[{"message":"sign in again","extensions":{"code":"UNAUTHENTICATED"}}]}',
    },
    'UNAUTHENTICATED',
  ],
  ['an error without a code', { status: 400, body: '{"errors":[{"message":"no"}]}' }, 'HTTP_400'],
  ['the page of a proxy', { status: 502, type: 'text/html', body: '<h1>502</h1>' }, 'HTTP_502'],
  ['an answer without data', { body: '{"data":null}' }, 'HTTP_200'],
])('%s is thrown with its code', async (_name, answer, code) => {
  const asking = against(answer, (hub) => ask(hub, '{ chainInfo { chainId } }'));
  await expect(asking).rejects.toMatchObject({ name: 'HubError', code });
});

test('a sign-in without a token in the answer is an error', async () => {
  const signer = privateKeySigner(PRIVATE_KEY);
  const signing = against(data({ generateToken: null }), (hub) => signIn(hub, signer));
  await expect(signing).rejects.toMatchObject({ code: 'UNREADABLE' });
});

test.each([
  ['two minutes', 120, { token: 't', expiresAt: 1 }],
  ['longer', 121, 'SIGNED_TOO_LATE'],
])('a wallet that takes %s to sign: %s s, %o', async (_name, seconds, expected) => {
  const signer = privateKeySigner(PRIVATE_KEY);
  vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 });
  try {
    const slow = {
      address: signer.address,
      signMessage: (text: string) => {
        vi.setSystemTime(1_700_000_000_000 + seconds * 1_000);
        return signer.signMessage(text);
      },
    };
    const answer = data({ generateToken: { token: 't', expiresAt: 1 } });
    const signed = against(answer, (hub) => signIn(hub, slow)).then(
      ({ result }) => result,
      (error: unknown) => error instanceof HubError && error.code,
    );
    expect(await signed).toEqual(expected);
  } finally {
    vi.useRealTimers();
  }
});

test.each<[string, object]>([
  ['takes a transaction', { transaction_hash: '0x11' }],
  ['had it before', { code: 'already_known', message: 'known' }],
  [
    'refuses it because a block holds it',
    { code: 'already_in_block', message: 'in it', transaction_hash: '0x11', block_height: 656 },
  ],
])('a transaction is sent when the node %s', async (_name, answer) => {
  const sending = against(data({ sendRawTransaction: answer }), (hub) => send(hub, 't', SIGNED));
  expect((await sending).question?.body).toContain('"variables":{"raw":"0x00"}');
});

test.each<[string, object, string]>([
  ['refuses it', { code: 'nonce_too_low', message: 'used' }, 'nonce_too_low'],
  ['answers something else', { status: 'fine' }, 'UNREADABLE'],
  ['takes another transaction', { transaction_hash: '0x12' }, 'UNREADABLE'],
])('sending fails when the node %s', async (_name, answer, code) => {
  const sending = against(data({ sendRawTransaction: answer }), (hub) => send(hub, 't', SIGNED));
  await expect(sending).rejects.toMatchObject({ name: 'HubError', code });
});

test('a lost connection is the error of fetch', async () => {
  await expect(against(undefined, (hub) => send(hub, 't', SIGNED))).rejects.toBeInstanceOf(
    TypeError,
  );
});
