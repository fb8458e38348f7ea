/** Notifications of the browser about credits, for a reader who asked for them. */
import { useEffect, useRef, useState } from 'react';
import type { Deposit } from '../api/deposits.ts';
import { messageOf, storeOf } from '../browser.ts';
import { amountText } from '../format.ts';
import { DEPOSIT } from './text.ts';

/** `absent`: the browser offers none to this page. */
export type Permission = NotificationPermission | 'absent';

type Statuses = ReadonlyMap<string, string>;

/** By id, the statuses of these deposits. */
export function statusesOf(deposits: readonly Pick<Deposit, 'id' | 'status'>[]): Statuses {
  return new Map(deposits.map(({ id, status }) => [id, status]));
}

/** Deposits credited since the look `before`; none at the first look. */
export function newlyCredited<Shown extends Pick<Deposit, 'id' | 'status'>>(
  before: Statuses | undefined,
  deposits: readonly Shown[],
): readonly Shown[] {
  if (before === undefined) return [];
  return deposits.filter(
    ({ id, status }) => status === 'credited' && before.get(id) !== 'credited',
  );
}

const STORE = storeOf('sessionStorage');
const WANTED = 'clt-notices';

function permissionNow(): Permission {
  return window.isSecureContext && 'Notification' in window ? Notification.permission : 'absent';
}

export interface Notices {
  readonly permission: Permission;
  /** asked for in this tab, and allowed */
  readonly isOn: boolean;
  readonly ask: () => Promise<void>;
  readonly stop: () => void;
}

/** Whether the reader of this tab asked to be told. */
export function useNotices(): Notices {
  const [permission, setPermission] = useState(permissionNow);
  const [isWanted, setWanted] = useState(() => STORE.getItem(WANTED) !== null);
  return {
    permission,
    isOn: isWanted && permission === 'granted',
    ask: async () => {
      if (permissionNow() === 'default') await Notification.requestPermission();
      const answer = permissionNow();
      setPermission(answer);
      setWanted(answer === 'granted');
      if (answer === 'granted') STORE.setItem(WANTED, '');
    },
    stop: () => {
      STORE.removeItem(WANTED);
      setWanted(false);
    },
  };
}

/**
 * Shows a notification for each deposit credited since the answer before, and opens the one that is
 * pressed. Returns in words why the browser did not show the last one.
 */
export function useNotified(
  deposits: readonly Deposit[] | undefined,
  isOn: boolean,
  open: (id: string) => void,
): string | undefined {
  const before = useRef<Statuses>(undefined);
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    if (deposits === undefined) return;
    const credited = newlyCredited(before.current, deposits);
    before.current = statusesOf(deposits);
    if (isOn) for (const deposit of credited) setProblem(show(deposit, open));
  }, [deposits, isOn, open]);
  return problem;
}

/** The reason in words where the browser refuses: some show none that a page makes. */
function show(
  { id, amount_usdt: amount }: Deposit,
  open: (id: string) => void,
): string | undefined {
  const words = DEPOSIT.notices;
  try {
    const body = words.body(amountText(BigInt(amount)));
    const notice = new Notification(words.title, { body, tag: id });
    notice.addEventListener('click', () => {
      window.focus();
      open(id);
      notice.close();
    });
    return undefined;
  } catch (error) {
    return words.failed(messageOf(error));
  }
}
