/**
 * Which transactions were decided for which address a short while ago, so that their receipts are not asked for again at every overlap. Nothing depends on it: without it
 * they are asked for once more. By address, since a transaction may pay an address that becomes a deposit address only later.
 */
const DECIDED_MAX = 20_000;

export class RecentlyDecided {
  readonly #keys = new Set<string>();

  has(address: Buffer, txId: Buffer): boolean {
    return this.#keys.has(keyOf(address, txId));
  }

  add(address: Buffer, txId: Buffer): void {
    this.#keys.add(keyOf(address, txId));
    if (this.#keys.size <= DECIDED_MAX) return;
    const [oldest = ''] = this.#keys;
    this.#keys.delete(oldest);
  }

  forget(address: Buffer): void {
    const prefix = address.toString('latin1');
    for (const key of this.#keys) if (key.startsWith(prefix)) this.#keys.delete(key);
  }
}

function keyOf(address: Buffer, txId: Buffer): string {
  return `${address.toString('latin1')}${txId.toString('latin1')}`;
}
