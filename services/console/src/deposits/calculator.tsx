/** Reckons the credit of a deposit before it is sent, by the policy in force. */
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { policyInForce, useMintQueue, type Policy } from '../api/deposits.ts';
import { useNewestRun } from '../api/health.ts';
import { Age, Amount, AnswerPanel, Facts, Tag, type Tone } from '../design/parts.tsx';
import { baseUnits } from '../format.ts';
import { TEXT } from '../text.ts';
import { estimate, isAllowedBy, isCounted, type Estimate, type Queue } from './estimate.ts';
import { turnText } from './wait.ts';

export function Calculator(props: {
  readonly depositsUrl: string;
  /** how many deposits the account has; undefined: nobody is signed in */
  readonly deposits: number | undefined;
}): ReactElement {
  const policy = useQuery({
    queryKey: ['policy', props.depositsUrl],
    queryFn: ({ signal }) => policyInForce(props.depositsUrl, signal),
    refetchInterval: 10_000,
  });
  const queue = useQueue(props.depositsUrl);
  const words = TEXT.calculator;
  return (
    <AnswerPanel
      title={words.title}
      aside={
        policy.data !== undefined && (
          <span className="quiet">
            {words.policy(policy.data.version)} <Age of={policy.data.in_force_since} />
          </span>
        )
      }
      of={policy}
      words={TEXT.away.deposits}
    >
      {(inForce) => <Shown policy={inForce} queue={queue} deposits={props.deposits} />}
    </AnswerPanel>
  );
}

/** Undefined while the gateway does not say it: an old queue decides nothing. */
export function useQueue(depositsUrl: string): Queue | undefined {
  const run = useNewestRun();
  const { data, error } = useMintQueue(depositsUrl);
  if (error !== null || data === undefined) return undefined;
  return { ...data, is_allowed: isAllowedBy(run, Date.now()) };
}

function Shown(props: {
  readonly policy: Policy;
  readonly queue: Queue | undefined;
  readonly deposits: number | undefined;
}): ReactElement {
  const { limits } = props.policy;
  const words = TEXT.calculator;
  const [text, setText] = useState('100');
  const [chosen, setFirst] = useState<boolean>();
  const isFirst = chosen ?? (props.deposits ?? 0) === 0;
  const gross = baseUnits(text);
  return (
    <>
      <div className="inside calculator">
        <label>
          <span>{words.amount}</span>
          <input
            inputMode="decimal"
            autoComplete="off"
            value={text}
            aria-invalid={gross === undefined}
            onChange={({ target }) => setText(target.value)}
          />
        </label>
        <label className="check-box">
          <input
            type="checkbox"
            checked={isFirst}
            onChange={({ target }) => setFirst(target.checked)}
          />
          <span>{words.first}</span>
        </label>
      </div>
      <output className="calculated">
        {gross === undefined ? (
          <p className="inside bad">{words.unreadable}</p>
        ) : (
          <Outcome of={estimate(limits, gross, isFirst, props.queue)} />
        )}
      </output>
      <p className="inside quiet">
        {words.limits} <Amount of={String(limits.minimum)} /> {words.to}{' '}
        <Amount of={String(limits.single_cap)} />. {words.rolling}{' '}
        <Amount of={String(limits.rolling_cap)} /> {words.rollingEnd}
        {props.queue !== undefined && isCounted(props.queue) && (
          <>
            {' '}
            {words.left} <Amount of={props.queue.cap_left} />; {words.before}{' '}
            <Amount of={props.queue.waiting} />.
          </>
        )}
      </p>
    </>
  );
}

const TONES: Readonly<Record<Estimate['outcome'], Tone>> = {
  minted: 'good',
  waits: 'warn',
  stopped: 'bad',
  unknown: 'plain',
  below_minimum: 'warn',
  over_single_cap: 'warn',
};

function Outcome({ of: { fee, credit, outcome, at } }: { readonly of: Estimate }): ReactElement {
  const words = TEXT.calculator;
  return (
    <Facts
      of={[
        [words.fee, <Amount of={String(fee)} unit={TEXT.units.usdt} />],
        [
          words.credit,
          <strong>
            <Amount of={String(credit)} />
          </strong>,
        ],
        [
          words.outcome,
          <Tag tone={TONES[outcome]}>
            {outcome === 'below_minimum' || outcome === 'over_single_cap'
              ? words.outcomes[outcome]
              : turnText({ outcome, at })}
          </Tag>,
        ],
      ]}
    />
  );
}
