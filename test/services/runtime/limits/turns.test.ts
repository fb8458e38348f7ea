import { expect, test, vi } from 'vitest';
import { Turns } from '../../../../services/runtime/limits/turns.ts';
import { Clients, turnOf } from '../../../../services/runtime/limits/clients.ts';

function take(turns: Turns, client: string): Promise<(rows: number) => void> {
  return turns.take(new Clients([client]));
}

/** Takes a turn for each of these lists of clients; each turn ends when the next one is awaited. */
async function orderOf(turns: Turns, waiting: Readonly<Record<string, string[]>>) {
  const end = await take(turns, 'someone');
  const order: string[] = [];
  const all = Object.entries(waiting).map(async ([name, clients]) => {
    const endOwn = await turns.take(new Clients(clients));
    order.push(name);
    endOwn(1);
  });
  end(1);
  await Promise.all(all);
  return order;
}

test('clients take turns, whatever one of them sends', async () => {
  const order = await orderOf(new Turns(1), {
    a1: ['a'],
    a2: ['a'],
    a3: ['a'],
    b1: ['b'],
    c1: ['c'],
  });
  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'a3']);
});

test('an operation for several clients waits in the shortest of their lanes', async () => {
  const order = await orderOf(new Turns(1), {
    a1: ['a'],
    a2: ['a'],
    b1: ['b'],
    shared: ['a', 'b', 'c'],
  });
  expect(order).toEqual(['a1', 'b1', 'shared', 'a2']);
});

test('so many clients have a turn at once, each of them one, and each turn ends once', async () => {
  const turns = new Turns(2);
  const [first, second] = [await take(turns, 'a'), await take(turns, 'b')];
  const begun: string[] = [];
  const waiting = ['a', 'c', 'd'].map(async (client) => {
    const end = await take(turns, client);
    begun.push(client);
    return end;
  });
  second(1);
  second(1);
  const end = await waiting[1];
  expect(begun).toEqual(['c']);
  end?.(1);
  await waiting[2];
  expect(begun).toEqual(['c', 'd']);
  first(1);
  await waiting[0];
});

test('a client rests after a turn with many values, also while no other waits', async () => {
  vi.useFakeTimers();
  try {
    const turns = new Turns(1);
    (await take(turns, 'a'))(20_000);
    const order: string[] = [];
    const begin = async (name: string): Promise<void> => {
      const end = await take(turns, name);
      order.push(name);
      end(1);
    };
    const own = begin('a');
    await begin('b');
    await vi.advanceTimersByTimeAsync(949);
    expect(order).toEqual(['b']);
    // nineteen times the 50 ms of its values
    await vi.advanceTimersByTimeAsync(1);
    await own;
    expect(order).toEqual(['b', 'a']);
  } finally {
    vi.useRealTimers();
  }
});

test('a client rests after many short turns, if they add up', async () => {
  vi.useFakeTimers();
  try {
    const turns = new Turns(1, { adds_up: true });
    let begun = 0;
    const read = async (): Promise<void> => {
      const end = await take(turns, 'a');
      begun++;
      end(1_000);
    };
    const reads = Promise.all(Array.from({ length: 20 }, read));
    await vi.advanceTimersByTimeAsync(0);
    expect(begun).toBe(4);
    await vi.advanceTimersByTimeAsync(246);
    expect(begun).toBe(4);
    // nineteen times the 13 ms of four
    await vi.advanceTimersByTimeAsync(1);
    expect(begun).toBe(8);
    await vi.runAllTimersAsync();
    await reads;
  } finally {
    vi.useRealTimers();
  }
});

test('accounts of an address have one turn at a time, and others theirs meanwhile', async () => {
  const turns = new Turns(4);
  const end = await take(turns, turnOf('192.0.2.1', '0x1'));
  const order: string[] = [];
  const read = async (client: string, name: string): Promise<void> => {
    const endOwn = await take(turns, client);
    order.push(name);
    endOwn(1);
  };
  const next = read(turnOf('192.0.2.1', '0x2'), 'same address');
  await read('192.0.2.1', 'no account');
  await read(turnOf('192.0.2.2', '0x3'), 'other address');
  end(1);
  await next;
  expect(order).toEqual(['no account', 'other address', 'same address']);
});

test('accounts of an address together have three times the turns of one client', async () => {
  vi.useFakeTimers();
  try {
    const turns = new Turns(4);
    let begun = 0;
    const read = async (who: string, values: number): Promise<void> => {
      const end = await take(turns, who);
      begun++;
      end(values);
    };
    // each with a rest of 9.5 s
    const accounts = Array.from({ length: 120 }, (_, at) =>
      read(turnOf('192.0.2.1', `0x${at}`), 200_000),
    );
    await vi.advanceTimersByTimeAsync(0);
    expect(begun).toBe(1);
    await vi.advanceTimersByTimeAsync(95_000);
    begun = 0;
    await vi.advanceTimersByTimeAsync(95_000);
    // three times ten
    expect(begun).toBeGreaterThan(26);
    expect(begun).toBeLessThan(34);
    await vi.runAllTimersAsync();
    await Promise.all(accounts);
  } finally {
    vi.useRealTimers();
  }
});

test('an operation does not wait for accounts whose address has its turn, or rests', async () => {
  vi.useFakeTimers();
  try {
    const turns = new Turns(4);
    const [first, second] = ['0x1', '0x2'].map((account) => turnOf('192.0.2.1', account));
    const end = await take(turns, String(first));
    const order: string[] = [];
    const begin = async (name: string, clients: readonly string[]): Promise<void> => {
      const endOwn = await turns.take(new Clients(clients));
      order.push(name);
      endOwn(1);
    };
    const waiting = [begin('own', [String(second)])];
    // its own lane is empty, that of its address is not
    await begin('shared', [turnOf('192.0.2.1', '0x3'), '192.0.2.2']);
    end(200_000);
    await begin('shared while it rests', [turnOf('192.0.2.1', '0x3'), '192.0.2.2']);
    expect(order).toEqual(['shared', 'shared while it rests']);
    await vi.runAllTimersAsync();
    await Promise.all(waiting);
    expect(order).toHaveLength(3);
  } finally {
    vi.useRealTimers();
  }
});

test('an operation of two accounts of an address does not wait for all that one of them sent', async () => {
  const order: string[] = [];
  const turns = new Turns(4);
  const [many, one] = ['0x1', '0x2'].map((account) => turnOf('192.0.2.1', account));
  const end = await take(turns, String(many));
  const begin = async (name: string, ...clients: readonly (string | undefined)[]) => {
    const endOwn = await turns.take(new Clients(clients.map(String)));
    order.push(name);
    endOwn(1);
  };
  const all = ['a1', 'a2', 'a3'].map((name) => begin(name, many));
  all.push(begin('shared', many, one));
  const joined = new Clients([String(many)]);
  const last = turns.take(joined).then((endOwn) => (order.push('joined'), endOwn(1)));
  joined.add(String(one));
  end(1);
  await Promise.all([...all, last]);
  expect(order).toEqual(['a1', 'shared', 'a2', 'joined', 'a3']);
});

test('an operation that waits for too long is refused, and its place is free', async () => {
  vi.useFakeTimers();
  try {
    const turns = new Turns(1, { waiting_max: 1, wait_ms_max: 1_000 });
    const end = await take(turns, 'someone');
    const refused = expect(take(turns, 'a')).rejects.toThrow('waited too long');
    await vi.advanceTimersByTimeAsync(1_000);
    await refused;
    const next = take(turns, 'a');
    end(1);
    (await next)(1);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('a client that joins an operation does not wait as long as the client that sent it', async () => {
  const turns = new Turns(1);
  const end = await take(turns, 'someone');
  const order: string[] = [];
  const begin = async (name: string, clients: Clients): Promise<void> => {
    const endOwn = await turns.take(clients);
    order.push(name);
    endOwn(1);
  };
  const [popular, own] = [new Clients(['a']), new Clients(['a'])];
  const all = [
    begin('a1', new Clients(['a'])),
    begin('a2', new Clients(['a'])),
    begin('popular', popular),
    begin('a3', own),
    begin('b1', new Clients(['b'])),
  ];
  popular.add('c');
  // b waits behind as many as this operation does
  own.add('b');
  end(1);
  await Promise.all(all);
  expect(order).toEqual(['a1', 'b1', 'popular', 'a2', 'a3']);
});

test('so many operations of a client wait, one more is refused, and others go on', async () => {
  const turns = new Turns(1, { waiting_max: 2 });
  const end = await take(turns, 'someone');
  const waiting = [take(turns, 'a'), take(turns, 'a')];
  await expect(take(turns, 'a')).rejects.toThrow('too many operations of yours wait');
  waiting.push(take(turns, 'b'));
  end(1);
  for (const one of [waiting[0], waiting[2], waiting[1]]) (await one)?.(1);
});

test('an operation whose clients have all left waits no more', async () => {
  const turns = new Turns(1, { waiting_max: 1 });
  const end = await take(turns, 'someone');
  const left = new Clients(['a', 'b']);
  const waiting = turns.take(left);
  left.delete('b');
  await expect(take(turns, 'a')).rejects.toThrow('too many operations of yours wait');
  left.delete('a');
  await expect(waiting).rejects.toThrow('nobody waits for this operation any more');
  await expect(turns.take(left)).rejects.toThrow('nobody waits for this operation any more');
  const next = take(turns, 'a');
  end(1);
  (await next)(1);
});
