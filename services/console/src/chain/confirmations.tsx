/** How close a block is to final: a ring that fills, and the same in words. */
import type { ReactElement } from 'react';
import { confirmationsOf, type Judged } from '../api/finality.ts';
import { Finality } from '../design/parts.tsx';
import { CHAIN } from './text.ts';

const RADIUS = 9;
const LENGTH = 2 * Math.PI * RADIUS;

export function Confirmations(props: {
  readonly height: number;
  readonly of: Judged;
}): ReactElement {
  const confirmations = confirmationsOf(props.height, props.of);
  return (
    <span className="confirmations">
      {confirmations !== undefined && <Ring {...confirmations} />}
      <Finality {...props} />
      {confirmations !== undefined && confirmations.has < confirmations.needs && (
        <span className="quiet">{CHAIN.confirmations(confirmations.has, confirmations.needs)}</span>
      )}
    </span>
  );
}

function Ring({ has, needs }: { readonly has: number; readonly needs: number }): ReactElement {
  return (
    <svg
      className="ring"
      viewBox="0 0 24 24"
      data-full={has === needs ? '' : undefined}
      aria-hidden
    >
      <circle cx="12" cy="12" r={RADIUS} />
      <circle
        cx="12"
        cy="12"
        r={RADIUS}
        strokeDasharray={`${(LENGTH * has) / needs} ${LENGTH}`}
        transform="rotate(-90 12 12)"
      />
    </svg>
  );
}
