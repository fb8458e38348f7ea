/** The text that a field of the form holds, without spaces around it. */
export function entered(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === 'string' ? value.trim() : '';
}
