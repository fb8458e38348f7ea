import type { FormEvent, ReactElement } from 'react';
import type { Challenge, Session } from '../../../../schemas/operations-api/answers.ts';
import { entered } from '../browser.ts';
import { Button, Note, Panel } from '../design/parts.tsx';
import { useWork } from '../design/work.ts';
import { ask } from './api.ts';
import { fileSigner, keySigner, walletSigner, type Signer } from './keys.ts';
import type { SignedIn } from './session.ts';
import { isSignIn } from './signed-texts.ts';
import { OPS } from './text.ts';

export function SignIn(props: {
  readonly note: string | undefined;
  readonly onSession: (session: SignedIn) => void;
}): ReactElement {
  const words = OPS.signIn;
  const hasWallet = window.ethereum !== undefined;
  const { isBusy, problem, run } = useWork();
  const signIn = (signerOf: () => Promise<Signer>): void =>
    void run(async () => {
      const signer = await signerOf();
      props.onSession({ ...(await open(signer)), signer });
    });
  const byKey = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const key = entered(form, 'key');
    form.reset();
    signIn(() => keySigner(key));
  };
  const byFile = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const [file, password] = [data.get('file'), data.get('password')];
    form.reset();
    if (!(file instanceof File) || typeof password !== 'string') return;
    signIn(async () => fileSigner(await file.text(), password));
  };
  const shown = problem ?? (isBusy ? undefined : props.note);
  return (
    <div className="sign-in">
      <h1>{words.title}</h1>
      <p className="quiet">{words.intro}</p>
      {shown !== undefined && <Note role="alert">{shown}</Note>}
      {isBusy && <Note>{words.working}</Note>}
      <Panel title={words.wallet}>
        <div className="inside stack">
          <p className="quiet">{hasWallet ? words.walletHow : words.noWallet}</p>
          {hasWallet && (
            <Button disabled={isBusy} onClick={() => signIn(walletSigner)}>
              {words.useWallet}
            </Button>
          )}
        </div>
      </Panel>
      <Panel title={words.file}>
        <form className="inside stack" onSubmit={byFile}>
          <p className="quiet">{words.fileHow}</p>
          <label>
            {words.chooseFile}
            <input name="file" type="file" required />
          </label>
          <label>
            {words.password}
            <input name="password" type="password" autoComplete="off" required />
          </label>
          <button className="button" disabled={isBusy}>
            {words.useFile}
          </button>
        </form>
      </Panel>
      <Panel title={words.key}>
        <form className="inside stack" onSubmit={byKey}>
          <p className="quiet">{words.keyHow}</p>
          <input
            name="key"
            type="password"
            autoComplete="off"
            spellCheck={false}
            required
            aria-label={words.key}
            placeholder="0x…"
          />
          <button className="button" disabled={isBusy}>
            {words.useKey}
          </button>
        </form>
      </Panel>
    </div>
  );
}

async function open(signer: Signer): Promise<Session> {
  const { address } = signer;
  const { text } = await ask<Challenge>('challenges', undefined, {
    body: { address },
  });
  if (!isSignIn(text, address, location.host)) throw new Error(OPS.signIn.strange);
  const signature = await signer.sign(text);
  return ask<Session>('sessions', undefined, { body: { text, signature } });
}
