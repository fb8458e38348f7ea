/** How the admin port reads a body, and says what it expected. */
import type { Response } from 'express';
import { refuse } from './http.ts';

export function invalid(response: Response, expected: string): void {
  refuse(response, 400, 'invalid_request', `the body is JSON: ${expected}`);
}

/** The body's own fields; none when there is no JSON object. */
export function fields(body: unknown): Readonly<Record<string, unknown>> {
  return isObject(body) ? { ...body } : {};
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isInteger(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max;
}
