/** The OpenAPI document of deposits. */
import type { OpenApi } from '../openapi.ts';
import { HEADERS, PATHS, RESPONSES } from './paths.ts';
import { SCHEMAS } from './schemas.ts';

const DESCRIPTION = `Each account has exactly one permanent USDT (TRC-20) deposit address. Every transfer to it becomes a credit of its own: what arrived less a network fee, minted as CLT to that account. A transfer is seen by polling, some time after it is solid on TRON; nothing is ever pushed.

**Authentication**: each path under \`/api/\` needs \`Authorization: Bearer <token>\`, the token that the hub issues at sign-in, in its address form (0x + 40 hex). The account that is asked for and credited is always the token's; no request names another. What belongs to another account answers exactly as what does not exist.

**Numbers** are micro-USDT, which is CLT base units: 1 USD is 1,000,000. They are exact whatever their size, so read them with arbitrary precision. Times are UTC. A client that meets an unknown status shows it as it is.

**Errors** are \`{error}\`: 400, 403, 404, 405, 413, 429 with Retry-After, 503, 500. 401 has no body. HEAD is answered like GET. What is not HTTP is answered 400, 408 or 431 in the same shape.`;

export const DEPOSIT_API: OpenApi = {
  openapi: '3.1.0',
  info: {
    title: 'CLT deposits',
    version: '1.0.0',
    summary:
      'A permanent USDT deposit address for each account, and what came of each transfer to it',
    description: DESCRIPTION,
  },
  servers: [{ url: '/', description: 'where this document came from' }],
  security: [{ bearer: [] }],
  tags: [
    { name: 'Deposits', description: 'Addresses, and what arrived at them.' },
    { name: 'Service', description: 'For those who run it, and this document.' },
  ],
  paths: PATHS,
  components: {
    schemas: SCHEMAS,
    headers: HEADERS,
    responses: RESPONSES,
    securitySchemes: {
      bearer: {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'JWT',
        description: 'HS256, claims pk and exp, as the hub issues it.',
      },
    },
  },
};
