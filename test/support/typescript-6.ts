/** The last TypeScript with an interface in JavaScript, in place of the package `typescript`. */
import { ts } from '@ts-morph/common';

export default ts;
