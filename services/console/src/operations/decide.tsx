/** Deposits that a person has chosen are decided: a question, a text, and one signature. */
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState, type FormEvent, type ReactElement } from 'react';
import type { Decided, Proposal, Waiting } from '../../../../schemas/operations-api/answers.ts';
import type { Wanted } from '../../../../schemas/operations-api/document.ts';
import { ServiceError } from '../api/service.ts';
import { entered } from '../browser.ts';
import { Amount, Button, Facts, Note, Panel, type Named } from '../design/parts.tsx';
import { useWork } from '../design/work.ts';
import { TEXT } from '../text.ts';
import { ask } from './api.ts';
import { useSession } from './session.ts';
import { decisionText, type Decision } from './signed-texts.ts';
import { OPS } from './text.ts';

const USDT = TEXT.units.usdt;

type Verb = Decision['verb'];
/** A key in this page signs once more when another record came first. */
const TRIES_MAX = 5;

interface Asked extends Decision {
  /** the text that the key signs */
  readonly text: string;
  readonly left_out: Proposal['left_out'];
}

/** The decision, its effect and its text, and then one signature for all deposits. */
export function Decide(props: {
  readonly of: readonly Pick<Waiting, 'id' | 'amount_usdt' | 'credit_usdt'>[];
  /** in words, and what else is told of a single one */
  readonly effects?: Readonly<Record<Verb, string>>;
  readonly facts?: readonly Named[];
}): ReactElement | null {
  const { token, signer } = useSession();
  const queries = useQueryClient();
  const dialog = useRef<HTMLDialogElement>(null);
  const [asked, setAsked] = useState<Asked>();
  const [done, setDone] = useState<string>();
  const { isBusy, problem, run, forget } = useWork();
  const words = OPS.decide;
  const { effects = words.effects, facts = [] } = props;

  /** The sums are of what is shown here, so that the key signs nothing else. */
  const propose = async (given: Wanted): Promise<Asked> => {
    const { verb, deposit_ids, actor, reason } = given;
    const body = { verb, deposit_ids, actor, reason };
    const { text, ...proposal } = await ask<Proposal>('proposals', token, { body });
    if (text === null) throw new Error(words.before);
    const those = props.of.filter(({ id }) => proposal.deposit_ids.includes(id));
    const decision = {
      ...given,
      ...proposal,
      gross: those.reduce((sum, { amount_usdt: amountUsdt }) => sum + BigInt(amountUsdt), 0n),
      credit: those.reduce((sum, { credit_usdt: creditUsdt }) => sum + BigInt(creditUsdt), 0n),
    };
    if (text !== (await decisionText(decision))) throw new Error(words.strange);
    return { ...decision, text };
  };
  const question = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const { nativeEvent: native } = event;
    const pressed = native instanceof SubmitEvent ? native.submitter?.getAttribute('value') : null;
    const verb: Verb = pressed === 'reject' ? 'reject' : 'approve';
    const given = {
      deposit_ids: props.of.map(({ id }) => id),
      actor: entered(form, 'actor'),
      reason: entered(form, 'reason'),
    };
    void run(async () => {
      setAsked(await propose({ ...given, verb }));
      dialog.current?.showModal();
    });
  };
  const sign = (decision: Asked): Promise<void> =>
    run(async () => {
      for (let [tries, made] = [1, decision]; ; tries++) {
        const { verb, deposit_ids, actor, reason, sequence, decided_at, text } = made;
        const signed = { verb, deposit_ids, actor, reason, sequence, decided_at };
        const body = { ...signed, signature: await signer.sign(text) };
        try {
          const { appended } = await ask<Decided>('decisions', token, { body });
          setDone(
            appended === null
              ? words.before
              : words.appended(`${appended.topic}/${appended.partition}@${appended.offset}`),
          );
          break;
        } catch (error) {
          const isLate = error instanceof ServiceError && error.code === 'ledger_moved';
          if (!isLate) throw error;
          made = await propose(made);
          setAsked(made);
          // a wallet asks the person, who is told why
          if (!signer.isHere || tries === TRIES_MAX) throw error;
        }
      }
      dialog.current?.close();
      await queries.invalidateQueries();
    });
  const note = (problem ?? done) !== undefined && (
    <Note data-tone={problem === undefined ? 'good' : undefined}>{problem ?? done}</Note>
  );
  if (props.of.length === 0) return done === undefined ? null : <>{note}</>;
  return (
    <Panel title={words.title}>
      <form className="inside stack" onSubmit={question}>
        <label>
          {words.actor}
          <input name="actor" required maxLength={1_000} autoComplete="name" />
        </label>
        <label>
          {words.why}
          <textarea name="reason" required maxLength={1_000} />
        </label>
        <p className="quiet">{words.kept}</p>
        <div className="row">
          <button className="button" data-main value="approve">
            {words.approve}
          </button>
          <button className="button" value="reject">
            {words.reject}
          </button>
        </div>
        {dialog.current?.open !== true && note}
      </form>
      <dialog ref={dialog} aria-label={words.title} onClose={forget}>
        {asked !== undefined && (
          <div className="inside stack">
            <h2>{words.question[asked.verb](asked.deposit_ids.length)}</h2>
            <Facts
              of={[
                [words.effect, effects[asked.verb]],
                asked.deposit_ids.length !== 1 && [words.chosen, String(asked.deposit_ids.length)],
                [OPS.columns.arrived, <Amount of={String(asked.gross)} unit={USDT} />],
                [OPS.deposit.credit, <Amount of={String(asked.credit)} />],
                ...facts,
                asked.left_out.length > 0 && [words.leftOut, leftOutText(asked.left_out)],
              ]}
            />
            <p className="quiet">{words.text}</p>
            <pre className="text">{asked.text}</pre>
            {problem !== undefined && <Note role="alert">{problem}</Note>}
            {isBusy && !signer.isHere && <p className="quiet">{words.asking}</p>}
            <div className="row">
              <Button data-main disabled={isBusy} onClick={() => void sign(asked)}>
                {words.sign[asked.verb]}
              </Button>
              <Button onClick={() => dialog.current?.close()}>{words.cancel}</Button>
            </div>
          </div>
        )}
      </dialog>
    </Panel>
  );
}

function leftOutText(left_out: Proposal['left_out']): string {
  return left_out
    .map(({ deposit_id: depositId, why }) => OPS.decide.leftOutOne(depositId.slice(0, 8), why))
    .join('; ');
}
