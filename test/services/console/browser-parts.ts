/** Parts of a browser that Chromium lacks without a window and extensions. */
import type { Page } from 'playwright-core';
import { SHAPES, type Mark } from '../../../services/console/src/design/mark.ts';
import type { TestWallet } from '../../support/wallets.ts';
import type { Opened } from './console-world.ts';

/** A wallet of EIP-1193 whose key stays in this process. */
export async function addWallet({ context }: Opened, wallet: TestWallet): Promise<void> {
  await context.exposeFunction('signText', async (hex: string) => {
    const { r, s, v } = await wallet.sign(Buffer.from(hex.slice(2), 'hex').toString());
    return `0x${r}${s}${v.toString(16)}`;
  });
  await context.addInitScript(
    `window.ethereum = { request: async ({ method, params }) =>
       method === 'eth_requestAccounts' ? ['${wallet.account}'] : await window.signText(params[0]) }`,
  );
}

/** Answers of a browser that asks a person, which Chromium without a window never does. */
export async function addNotifications(
  { context }: Opened,
  permission: NotificationPermission,
): Promise<void> {
  await context.addInitScript(
    `window.shown = [];
     window.Notification = class extends EventTarget {
       static permission = 'default';
       static async requestPermission() { return (this.permission = '${permission}'); }
       constructor(title, { body }) { super(); window.shown.push(title + ': ' + body); }
       close() {}
     };`,
  );
}

/** The shape on the icon of the tab; undefined: the plain icon. */
export async function iconOf(page: Page): Promise<Mark | undefined> {
  const href = await page.locator('link[rel=icon]').getAttribute('href');
  const drawn = decodeURIComponent(href ?? '');
  return (['good', 'warn', 'bad'] as const).find((mark) => drawn.includes(SHAPES[mark].ground));
}
